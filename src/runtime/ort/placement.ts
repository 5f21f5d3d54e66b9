import { createReadStream } from "node:fs";
import { rm } from "node:fs/promises";
import { createInterface } from "node:readline";
import { z } from "zod";
import type { GraphPlacement } from "../../core/modality.js";

/** An event of a node in ONNX Runtime's profile, a line of its file. */
const nodeEvent = z.object({
  cat: z.literal("Node"),
  name: z.string().endsWith("_kernel_time"),
  args: z.object({
    op_name: z.string(),
    provider: z.string(),
    node_index: z.string(),
    /** Bytes of its inputs without weights, and of its outputs. */
    activation_size: z.coerce.number(),
    output_size: z.coerce.number(),
  }),
});

const SUFFIX = "ExecutionProvider";
const HOST = "CPU";
/** A node that moves less reckons with shapes, which providers leave to the CPU of their own accord. */
const LEAST_BYTES = 1_024;

/** Reads and removes what a session has noted of its runs. Throws where it has noted nothing that is read. */
export async function readPlacement(role: string, profilePath: string): Promise<GraphPlacement> {
  const seen = new Map<string, { readonly provider: string; readonly operator: string }>();
  let [runs, copiedBytes] = [0, 0];
  for await (const line of createInterface({ input: createReadStream(profilePath) })) {
    if (line.includes('"name" :"model_run"')) runs += 1;
    const node = line.includes("_kernel_time") ? parseEvent(line) : undefined;
    if (node === undefined) continue;
    const { op_name: operator, provider, node_index: index, ...sizes } = node.args;
    const bytes = Math.max(sizes.activation_size, sizes.output_size);
    if (operator.startsWith("Memcpy")) copiedBytes += bytes;
    else if (bytes >= LEAST_BYTES)
      seen.set(`${index} ${node.name}`, { provider: provider.replace(SUFFIX, ""), operator });
  }
  await rm(profilePath, { force: true });
  const nodes = [...seen.values()];
  const onHost = nodes.filter(({ provider }) => provider === HOST);
  return {
    role,
    nodes: countBy(nodes.map(({ provider }) => provider.toLowerCase())),
    hostOperators: countBy(onHost.map(({ operator }) => operator)),
    copiedBytes: runs === 0 ? 0 : Math.round(copiedBytes / runs),
  };
}

function parseEvent(line: string) {
  return nodeEvent.safeParse(JSON.parse(line.replace(/,\s*$/, ""))).data;
}

function countBy(names: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}

/** Of the nodes that ran, the part that the CPU ran; 0 where none ran. */
export function hostShare({ nodes }: GraphPlacement): number {
  const all = Object.values(nodes).reduce((sum, count) => sum + count, 0);
  return all === 0 ? 0 : (nodes["cpu"] ?? 0) / all;
}

/** For people, e.g. `denoiser: 812 of 830 nodes on cuda, 18 on the CPU (Attention × 18), 4.2 MB copied a run`. */
export function describePlacement(placement: GraphPlacement): string {
  const { role, nodes, hostOperators, copiedBytes } = placement;
  const all = Object.values(nodes).reduce((sum, count) => sum + count, 0);
  if (all === 0) return `${role}: not run`;
  const elsewhere = Object.entries(nodes).filter(([name]) => name !== "cpu");
  const parts = elsewhere.map(([name, count]) => `${count} of ${all} nodes on ${name}`);
  const fallen = Object.entries(hostOperators).map(([name, count]) => `${name} × ${count}`);
  const host = fallen.length === 0 ? [] : [`${nodes["cpu"]} on the CPU (${fallen.join(", ")})`];
  const copied = `${(copiedBytes / 1e6).toFixed(2)} MB copied a run`;
  return `${role}: ${[...parts, ...host, copied].join(", ")}`;
}

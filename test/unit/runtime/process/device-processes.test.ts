import { expect, test } from "vitest";
import { joinHosts } from "#framemill/runtime/process/device-processes.js";
import type { InferenceHost } from "#framemill/runtime/process/protocol.js";

/** An inference process whose jobs end when they are told to. */
function createHost(name: string) {
  const ends = new Map<string, () => void>();
  const host: InferenceHost = {
    ready: async () => {},
    async *run({ job }) {
      await new Promise<void>((resolve) => ends.set(job.id, resolve));
      ends.delete(job.id);
      yield { type: "progress", fraction: 1, stage: name };
    },
    processId: 1,
    device: name,
    memoryBytes: async () => 100,
    allowanceBytes: 1_000,
    close: async () => {},
  };
  return { host, ends };
}

test("each job goes to the device that runs the fewest of its kind", async () => {
  const [first, second] = [createHost("GPU 0"), createHost("GPU 1")];
  const all = joinHosts([first.host, second.host], [0, 1], ({ modality }) => modality);
  const { signal } = new AbortController();
  const run = async (id: string, modality: string) => {
    const job = { id, modality, model: "toy", request: {}, expiresAtMs: 0, reportTo: "" };
    const task = { job, scratchPath: "", readInput: async () => new Uint8Array() };
    for await (const event of all.run(task, signal))
      if (event.type === "progress") return event.stage;
    return "";
  };
  const clips = [run("a", "video"), run("b", "video")];
  const pictures = [run("c", "image")];
  expect([...first.ends.keys()]).toEqual(["a", "c"]);
  expect([...second.ends.keys()]).toEqual(["b"]);
  second.ends.get("b")?.();
  await clips[1];
  clips.push(run("d", "video"));
  expect([...second.ends.keys()]).toEqual(["d"]);
  for (const end of [...first.ends.values(), ...second.ends.values()]) end();
  expect(await Promise.all([...clips, ...pictures])).toEqual(["GPU 0", "GPU 1", "GPU 1", "GPU 0"]);
  expect([all.device, await all.memoryBytes(), all.allowanceBytes]).toEqual([
    "GPU 0, GPU 1",
    200,
    2_000,
  ]);
});

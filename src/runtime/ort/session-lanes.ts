import { messageOf } from "../../core/errors.js";
import type { GraphRun } from "../../core/modality.js";
import type { GraphsSetup } from "./graphs.js";
import { readOnnxOutline } from "../onnx/onnx-outline.js";
import { openSessions, type SessionThread } from "./session.js";

interface Lane {
  readonly thread: SessionThread;
  running: number;
}

/** Weights that take longer to pack than two openings take beside it, in bytes. */
const LARGE_BYTES = 64 * 2 ** 20;
const FLOAT32 = 1;

/**
 * The same graphs in several threads: a run goes to the thread with the fewest. Nothing is kept between
 * runs. Graphs whose weights are large and mapped serve unpacked at first: threads with packed ones open
 * behind them and take over, each run ending where it began.
 */
export async function openSessionLanes(
  setup: GraphsSetup,
  count: number,
  onRun?: (run: GraphRun) => void,
): Promise<Pick<SessionThread, "info" | "run" | "close">> {
  const open = (packs: boolean) =>
    Promise.all(
      Array.from({ length: count }, async (): Promise<Lane> => {
        return { thread: await openSessions({ ...setup, packs }, onRun), running: 0 };
      }),
    );
  const packsLater = isMappedAndLarge(setup);
  let lanes = await open(!packsLater);
  const packed = packsLater
    ? open(true).then((opened) => {
        const unpacked = lanes;
        lanes = opened;
        return closeLanes(unpacked);
      }, warnUnpacked)
    : Promise.resolve();
  return {
    info: lanes[0]?.thread.info ?? {},
    async run(role, feeds, options) {
      const lane = lanes.reduce((best, other) => (other.running < best.running ? other : best));
      lane.running += 1;
      try {
        return await lane.thread.run(role, feeds, options);
      } finally {
        lane.running -= 1;
      }
    },
    async close() {
      await packed;
      await closeLanes(lanes);
    },
  };
}

/** Other types than float32 have kernels that are several times slower unpacked. */
function isMappedAndLarge({ graphs, providers }: GraphsSetup): boolean {
  if (providers.some((name) => name !== "cpu")) return false;
  const tensors = Object.values(graphs).flatMap((path) => readOnnxOutline(path).externalTensors);
  const byteLength = tensors.reduce((sum, tensor) => sum + (tensor.byteLength ?? 0), 0);
  return byteLength >= LARGE_BYTES && tensors.every(({ elementType }) => elementType === FLOAT32);
}

/** A thread closes after the runs that were asked of it so far. */
async function closeLanes(lanes: readonly Lane[]): Promise<void> {
  await Promise.all(lanes.map(({ thread }) => thread.close()));
}

/** What is open goes on serving, more slowly. */
function warnUnpacked(thrown: unknown): void {
  const reason = messageOf(thrown);
  process.emitWarning(`the graphs serve without packed weights: ${reason}`);
}

/** The thread side of `engine.ts`: opens a decoder and continues all requests together, step by step. */
import { parentPort, workerData } from "node:worker_threads";
import { setImmediate as nextTurn } from "node:timers/promises";
import { toJobError } from "../../core/errors.js";
import { openTextBatch, type OpenBatch } from "./open-batch.js";
import type { EngineReply, EngineRequest, EngineSetup, StepItem, StepRun } from "./request.js";

const port = parentPort;
if (port === null) throw new Error("engine-thread.js runs inside a worker thread only");

let runs: StepRun[] = [];
const inbox: EngineRequest[] = [];
let wake: () => void = () => {};
port.on("message", (request: EngineRequest) => {
  inbox.push(request);
  wake();
});

// engine.ts starts this thread and gives it nothing else.
// oxlint-disable-next-line typescript/no-unsafe-type-assertion
await serve(workerData as EngineSetup);
port.close();

async function serve(setup: EngineSetup): Promise<void> {
  const opened = await open(setup);
  if (opened === undefined) return;
  try {
    while (await handleInbox(opened)) {
      if (opened.batch.isIdle) await new Promise<void>((resolve) => (wake = resolve));
      else await step(opened);
    }
  } finally {
    await opened.close();
  }
}

async function open(setup: EngineSetup): Promise<OpenBatch | undefined> {
  try {
    const opened = await openTextBatch(setup, (run) => runs.push(run));
    runs = [];
    reply({ type: "ready", info: opened.info });
    return opened;
  } catch (thrown) {
    reply({
      type: "open-failed",
      message: thrown instanceof Error ? thrown.message : String(thrown),
    });
    return undefined;
  }
}

/** False once the engine is to end. */
async function handleInbox(opened: OpenBatch): Promise<boolean> {
  for (let request = inbox.shift(); request !== undefined; request = inbox.shift()) {
    if (request.type === "close") return false;
    if (request.type === "cancel") opened.batch.cancel(request.id);
    else await add(opened, request);
  }
  return true;
}

async function add(
  opened: OpenBatch,
  { id, job }: Extract<EngineRequest, { type: "generate" }>,
): Promise<void> {
  try {
    opened.batch.add(await opened.createGeneration(id, job));
  } catch (thrown) {
    tell([toFailure(id, thrown)]);
  }
}

function toFailure(id: number, thrown: unknown): StepItem {
  const { code, message, param } = toJobError(thrown);
  return { id, failure: { code, message, ...(param !== null && { param }) } };
}

async function step({ batch }: OpenBatch): Promise<void> {
  tell(await batch.step());
  // Cancels and newcomers are heard before the next step.
  await nextTurn();
}

function tell(items: readonly StepItem[]): void {
  reply({ type: "step", items, runs });
  runs = [];
}

function reply(message: EngineReply): void {
  port?.postMessage(message);
}

/** The thread side of `engine.ts`: opens a decoder and continues all requests together, step by step. */
import { parentPort, receiveMessageOnPort, workerData } from "node:worker_threads";
import { setImmediate as nextTurn } from "node:timers/promises";
import { toJobError } from "../../core/errors.js";
import { toFailure } from "../../core/job.js";
import type { GraphRun } from "../../core/modality.js";
import { openTextBatch, type OpenBatch } from "./open-batch.js";
import type { EngineReply, EngineRequest, EngineSetup, StepItem } from "./request/request.js";

const port = parentPort;
if (port === null) throw new Error("engine-thread.js runs inside a worker thread only");

let runs: GraphRun[] = [];
const inbox: EngineRequest[] = [];
/** Time that newcomers take at most between two steps of those that are there. */
const ADMISSION_MS = 20;
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

/** False once the engine is to end. Newcomers whose grammars take long come in over several steps. */
async function handleInbox(opened: OpenBatch): Promise<boolean> {
  const endsAt = performance.now() + ADMISSION_MS;
  hearCancels(opened);
  while (performance.now() < endsAt || opened.batch.isIdle) {
    const request = inbox.shift();
    if (request === undefined) return true;
    if (request.type === "close") return false;
    if (request.type === "cancel") opened.batch.cancel(request.id);
    else await add(opened, request);
  }
  return true;
}

/** Also in the middle of a step, when no message is delivered by itself. */
function hearCancels({ batch }: OpenBatch): void {
  for (let next = takeMessage(); next !== undefined; next = takeMessage()) inbox.push(next);
  const cancelled = new Set(
    inbox.flatMap(({ type, ...rest }) => (type === "cancel" && "id" in rest ? rest.id : [])),
  );
  if (cancelled.size === 0) return;
  const left = inbox.filter((request) => request.type === "close" || !cancelled.has(request.id));
  inbox.splice(0, inbox.length, ...left);
  for (const id of cancelled) batch.cancel(id);
}

function takeMessage(): EngineRequest | undefined {
  if (port === null) return undefined;
  // engine.ts sends nothing else.
  const received: { readonly message: EngineRequest } | undefined = receiveMessageOnPort(port);
  return received?.message;
}

async function add(
  opened: OpenBatch,
  { id, job }: Extract<EngineRequest, { type: "generate" }>,
): Promise<void> {
  try {
    opened.batch.add(await opened.createGeneration(id, job));
  } catch (thrown) {
    tell([{ id, failure: toFailure(toJobError(thrown)) }]);
  }
}

async function step(opened: OpenBatch): Promise<void> {
  tell(await opened.batch.step(() => hearCancels(opened)));
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

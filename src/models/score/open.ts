import type { PipelineSetup } from "../../core/modality.js";
import { type ModelPackage, openModelGraphs } from "../../runtime/packages/model-package.js";
import type { MusicModel, PieceRequest, PieceEvent } from "../music/music-model.js";
import type { Graphs } from "../../runtime/ort/graphs.js";
import { randomStream } from "../sampling/noise.js";
import { master } from "./master.js";
import { notesOf, playNotes } from "./play-notes.js";
import { makePlan, readPrompt } from "./plan.js";
import { parseScoreSettings, type ScoreSettings } from "./settings.js";
import { writeSteps } from "./write-steps.js";

const ROLES = ["prompt-reader", "arranger", "planner", "composer", "synthesiser", "room"];
/** Share of the work on sound that playing the notes takes; the room takes the rest. */
const PLAYING_FRACTION = 0.6;

/** A model that writes a score and plays it. Opens the package's graphs. Throws an error that names what is missing or does not load. */
export async function openScore(
  model: ModelPackage,
  setup: Pick<PipelineSetup, "threads" | "onRun">,
): Promise<MusicModel> {
  const settings = parseScoreSettings(model);
  const sessions = await openModelGraphs(model, ROLES, setup);
  return {
    stepsFraction: 0.25,
    compose: (request, signal) => compose({ sessions, settings, request, signal }),
    close: () => sessions.close(),
  };
}

interface Piece {
  readonly sessions: Graphs;
  readonly settings: ScoreSettings;
  readonly request: PieceRequest;
  readonly signal: AbortSignal;
}

/** Prompt → intent → players and bars → steps → notes → sound. */
async function* compose({
  sessions,
  settings,
  request,
  signal,
}: Piece): AsyncGenerator<PieceEvent> {
  signal.throwIfAborted();
  const { prompt, seconds, seed } = request;
  const stream = randomStream(seed, 0);
  let draws = 0;
  const chance = () => stream.at(draws++);
  const task = { sessions, settings, chance, signal };
  const intent = await readPrompt(sessions, settings, { prompt, chance });
  const plan = await makePlan(task, intent, seconds);
  const steps = plan.bars.length * plan.stepsPerBar;
  const written = yield* reporting(writeSteps(task, plan), (done) => codes(done / steps));
  const notes = notesOf(settings, plan, written);
  const length = Math.round(seconds * settings.sampleRateHz);
  const playing = playNotes({ sessions, settings, notes, length, seed, signal });
  const dry = yield* reporting(playing, (done) => sound(done * PLAYING_FRACTION));
  const samples = yield* reporting(master({ sessions, settings, dry, signal }), (done) =>
    sound(PLAYING_FRACTION + done * (1 - PLAYING_FRACTION)),
  );
  const { sampleRateHz } = settings;
  yield { type: "sound", sound: { samples, channels: 2, sampleRateHz } };
}

const codes = (fraction: number) => ({ type: "progress", part: "codes", fraction }) as const;
const sound = (fraction: number) => ({ type: "progress", part: "sound", fraction }) as const;

/** Passes on what a stage says of its progress, and returns what it made. */
async function* reporting<Result>(
  stage: AsyncGenerator<number, Result>,
  toEvent: (done: number) => PieceEvent,
): AsyncGenerator<PieceEvent, Result> {
  let step = await stage.next();
  while (!step.done) {
    yield toEvent(step.value);
    step = await stage.next();
  }
  return step.value;
}

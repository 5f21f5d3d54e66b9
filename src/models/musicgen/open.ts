import { z } from "zod";
import type { PipelineSetup } from "../../core/modality.js";
import {
  graphPaths,
  type ModelPackage,
  openModelGraphs,
  readModelJson,
} from "../../runtime/packages/model-package.js";
import type { Graphs } from "../../runtime/ort/graphs.js";
import { float32, floatsOf, int64Of } from "../../runtime/tensors/tensor.js";
import { loadTextTokenizer, type TextTokenizer } from "../tokenizer/text-tokenizer.js";
import { decodeCodes } from "./codec.js";
import { createCodeSampler, makeCodes, type TextStates } from "./make-codes.js";
import type { MusicModel, PieceRequest, PieceEvent, Sound } from "../music/music-model.js";
import { type MusicgenSettings, parseMusicgenSettings } from "./settings.js";

/** An opened MusicGen package (arXiv 2306.05284) in the layout of Optimum's exporter. */
export interface Musicgen extends MusicModel {
  readonly settings: MusicgenSettings;
}

/** Opens the package's graphs. Throws an error that names what is missing or does not load. */
export async function openMusicgen(
  model: ModelPackage,
  setup: Pick<PipelineSetup, "threads" | "onRun">,
): Promise<Musicgen> {
  const settings = await readSettings(model);
  const files = graphPaths(model, ["tokenizer"]);
  const tokenizer = await loadTextTokenizer({ tokenizer: files["tokenizer"] ?? "" });
  const sessions = await openModelGraphs(model, graphRoles(model), setup);
  return {
    settings,
    stepsFraction: 0.95,
    compose: (request, signal) => compose({ sessions, settings, tokenizer, request, signal }),
    close: () => sessions.close(),
  };
}

async function readSettings(model: ModelPackage): Promise<MusicgenSettings> {
  const config = await readModelJson(model, "config", z.unknown(), {});
  const generation = await readModelJson(model, "generation-config", z.unknown(), {});
  return parseMusicgenSettings(config, generation, model.path);
}

/** A merged decoder serves alone; without one the pair must be there. */
function graphRoles({ files }: ModelPackage): string[] {
  const decoders =
    files["decoder-merged"] === undefined ? ["decoder", "decoder-with-past"] : ["decoder-merged"];
  return ["text-encoder", ...decoders, "audio-decoder"];
}

interface Piece {
  readonly sessions: Graphs;
  readonly settings: MusicgenSettings;
  readonly tokenizer: TextTokenizer;
  readonly request: PieceRequest;
  readonly signal: AbortSignal;
}

async function* compose(piece: Piece): AsyncGenerator<PieceEvent> {
  const { sessions, settings, request, signal } = piece;
  signal.throwIfAborted();
  const length = Math.round(request.seconds * settings.sampleRateHz);
  const frames = Math.ceil(length / settings.frameSamples);
  const text = await encodeText(piece);
  const sampler = createCodeSampler(settings.sampling, request.seed);
  const codes = yield* makeCodes(sessions, { settings, text, frames, sampler, signal });
  const sound = yield* decodeCodes(sessions, { settings, codes, signal });
  yield { type: "sound", sound: cutSound(sound, length) };
}

/** States of the prompt and, for guidance, of nothing: zeros behind a mask of zeros. */
async function encodeText({ sessions, settings, tokenizer, request }: Piece): Promise<TextStates> {
  const { ids } = tokenizer.encode(request.prompt);
  const tokens = ids.length;
  const outputs = await sessions.run("text-encoder", {
    input_ids: int64Of(ids, [1, tokens]),
    attention_mask: int64Of(
      Array.from({ length: tokens }, () => 1),
      [1, tokens],
    ),
  });
  const conditional = floatsOf(outputs, "last_hidden_state");
  const width = conditional.length / tokens;
  const batch = settings.sampling.guidance === 1 ? 1 : 2;
  const states = new Float32Array(batch * conditional.length);
  states.set(conditional);
  const mask = Array.from({ length: batch * tokens }, (_, index) => (index < tokens ? 1 : 0));
  return {
    batch,
    states: float32(states, [batch, tokens, width]),
    mask: int64Of(mask, [batch, tokens]),
  };
}

/** The last frame may reach beyond the length ordered. */
function cutSound({ samples, channels, sampleRateHz }: Sound, length: number): Sound {
  const made = samples.length / channels;
  const cut = new Float32Array(channels * length);
  for (let channel = 0; channel < channels; channel++)
    cut.set(samples.subarray(channel * made, channel * made + length), channel * length);
  return { samples: cut, channels, sampleRateHz };
}

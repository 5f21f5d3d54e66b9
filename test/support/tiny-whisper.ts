import { mkdtempSync, rmSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { addModel, type AddModelOptions } from "#framemill/models/add-model.js";
import type { ModelPackage } from "#framemill/runtime/packages/model-package.js";
import { type TinyWhisper, WHISPER_SIZES, writeWhisperGraphs } from "./tiny-whisper-graphs.js";
import { steeringId, VOCABULARY, whisperTokenizerJson } from "./whisper-vocabulary.js";

/**
 * A Whisper in the layout of optimum and onnx-community that hears `melody`: two layers of two heads. The
 * encoder's states are the levels of the eight pitches and sines of the place. Layer 0 counts the words in
 * its cache and hears the whole window; layer 1 looks at the note of that number and counts the times.
 * - a word scores 20 times the level of its pitch in the note, the end of the text 8;
 * - a time scores 42 at the start and behind a full stop, 12 behind a word, less 4 for each 20 ms between it and
 *   the end of the words; behind a time it depends on whether that opened or closed a piece;
 * - a language scores 20 times the levels of its pitches in the window: en has the lower three, de the next.
 */
export async function writeTinyWhisper(folder: string, tiny: TinyWhisper): Promise<void> {
  writeWhisperGraphs(folder, tiny);
  const { melBins = 80, isMultilingual = true } = tiny;
  const files: Record<string, object> = {
    "config.json": configOf(melBins),
    "generation_config.json": generationOf(isMultilingual),
    "preprocessor_config.json": preprocessorOf(melBins),
    "tokenizer.json": whisperTokenizerJson(),
    "tokenizer_config.json": { tokenizer_class: "WhisperTokenizer", model_max_length: 448 },
  };
  for (const [name, content] of Object.entries(files))
    await writeFile(join(folder, name), JSON.stringify(content));
}

/** The model as a package, in a folder that is removed when the process ends. */
export async function addTinyWhisper(
  tiny: TinyWhisper,
  options: Partial<AddModelOptions> = {},
): Promise<ModelPackage> {
  const root = mkdtempSync(join(tmpdir(), "framemill-whisper-"));
  process.once("exit", () => rmSync(root, { recursive: true, force: true }));
  await writeTinyWhisper(join(root, "whisper"), tiny);
  return addModel(join(root, "whisper"), { modelsDir: join(root, "models"), ...options });
}

function configOf(melBins: number): object {
  return {
    architectures: ["WhisperForConditionalGeneration"],
    model_type: "whisper",
    is_encoder_decoder: true,
    num_mel_bins: melBins,
    d_model: WHISPER_SIZES.width,
    num_hidden_layers: WHISPER_SIZES.layers,
    encoder_layers: 1,
    encoder_attention_heads: WHISPER_SIZES.heads,
    decoder_layers: WHISPER_SIZES.layers,
    decoder_attention_heads: WHISPER_SIZES.heads,
    max_source_positions: WHISPER_SIZES.frames,
    max_target_positions: 448,
    vocab_size: VOCABULARY,
    decoder_start_token_id: steeringId("startoftranscript"),
    bos_token_id: steeringId("endoftext"),
    eos_token_id: steeringId("endoftext"),
    pad_token_id: steeringId("endoftext"),
  };
}

function generationOf(isMultilingual: boolean): object {
  const ids = (...names: string[]) =>
    Object.fromEntries(names.map((name) => [`<|${name}|>`, steeringId(name)]));
  return {
    is_multilingual: isMultilingual,
    alignment_heads: [[1, 0]],
    begin_suppress_tokens: [steeringId("endoftext")],
    suppress_tokens: [],
    decoder_start_token_id: steeringId("startoftranscript"),
    eos_token_id: steeringId("endoftext"),
    pad_token_id: steeringId("endoftext"),
    no_timestamps_token_id: steeringId("notimestamps"),
    prev_sot_token_id: steeringId("startofprev"),
    max_initial_timestamp_index: 50,
    max_length: 448,
    return_timestamps: false,
    lang_to_id: ids("en", "de", "fr"),
    task_to_id: { transcribe: steeringId("transcribe"), translate: steeringId("translate") },
  };
}

function preprocessorOf(melBins: number): object {
  return {
    feature_extractor_type: "WhisperFeatureExtractor",
    feature_size: melBins,
    chunk_length: 30,
    hop_length: 160,
    n_fft: 400,
    n_samples: 480_000,
    nb_max_frames: 3_000,
    padding_value: 0,
    sampling_rate: 16_000,
  };
}

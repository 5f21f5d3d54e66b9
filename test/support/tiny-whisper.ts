import { copyFileSync, cpSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { addModel } from "#framemill/inference/layouts/add-model.js";
import type { ModelPackage } from "#framemill/inference/model-package.js";
import { decodeAudio } from "#framemill/media/decode-audio.js";
import { SPEECH_RATE_HZ } from "#framemill/media/mel.js";
import { openPcm, type PcmFile } from "#framemill/media/pcm-file.js";
import { writeWithAttentions } from "./with-attentions.js";
import { publishedModel } from "./published-models.js";

/** Name of the shared Whisper of random weights. */
export const TINY_WHISPER = "tiny-official/asr-whisper";
/** 13.335 s of a reader, 16 kHz mono: 44 bytes of header, then samples of 16 bit. */
export const SPEECH_PATH = publishedModel("asr-fixtures", "1272-141231-0002.wav");

const folder = mkdtempSync(join(tmpdir(), "framemill-whisper-"));
process.once("exit", () => rmSync(folder, { recursive: true, force: true }));

/** A folder for the caller alone, removed when the process ends. */
export function ownFolder(): string {
  return mkdtempSync(join(folder, "own-"));
}

export async function openSound(bytes: Uint8Array, name: string): Promise<PcmFile> {
  const path = join(folder, `${name}.pcm`);
  const sound = {
    path,
    sampleRateHz: SPEECH_RATE_HZ,
    maxSeconds: 600,
    signal: new AbortController().signal,
    param: "file",
  };
  await decodeAudio(bytes, sound);
  return openPcm(path);
}

/** The tiny model without the merged decoder, or with a decoder that shows where it looks. */
export async function whisperVariant(kind: "split" | "attentions"): Promise<ModelPackage> {
  const source = join(folder, kind);
  mkdirSync(join(source, "onnx"), { recursive: true });
  cpSync(publishedModel(TINY_WHISPER), source, {
    recursive: true,
    filter: (path) => !/golden|decoder_model/.test(path),
  });
  const graph = (name: string) => publishedModel(TINY_WHISPER, "onnx", `${name}.onnx`);
  const own = (name: string) => join(source, "onnx", `${name}.onnx`);
  copyFileSync(graph("decoder_with_past_model"), own("decoder_with_past_model"));
  if (kind === "split") copyFileSync(graph("decoder_model"), own("decoder_model"));
  else writeWithAttentions(graph("decoder_model"), own("decoder_model"), 2);
  return addModel(source, { modelsDir: join(folder, "models") });
}

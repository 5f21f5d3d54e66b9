import { randomInt } from "node:crypto";
import { JobError } from "../core/errors.js";
import { throwIfCancelled } from "./ffmpeg.js";
import { describeExit, type ProcessExit, startProcessGroup } from "./process-group.js";

export interface EspeakOptions {
  /** The espeak-ng program. */
  readonly espeakPath: string;
  /** Its name of a voice, e.g. `en-us`. */
  readonly voice: string;
  readonly signal?: AbortSignal;
}

const [CONSONANTS, VOWELS] = ["bdfgklmnprstv", "aeiou"] as const;
/** Letters, digits, and signs that have a name. */
const SAYABLE = /[\p{L}\p{N}\p{S}%&@#*/]/u;
const TIMEOUT_MS = 30_000;
/** espeak-ng reads its input in lines of at most 999 bytes. */
const MAX_LINE_BYTES = 800;
/** Marks of a change of language within a sentence, e.g. `(fr)`. */
const LANGUAGE_MARKS = /\([a-z]{2,3}(?:-[a-z]+)*\)/g;

/**
 * IPA of each text, stress marks before vowels, as espeak-ng says it; empty where it says nothing.
 * Texts should hold no punctuation: it ends clauses and is not printed. Throws `service_unavailable`
 * without espeak-ng, `invalid_value` for a voice it does not have.
 */
export async function phonemize(
  texts: readonly string[],
  options: EspeakOptions,
): Promise<readonly string[]> {
  const lines = texts.map((text) =>
    SAYABLE.test(text) ? text.replaceAll(/\s+/g, " ").trim() : "",
  );
  const spoken = lines.filter((line) => line !== "");
  if (spoken.length === 0) return lines;
  const divider = randomWord();
  const asked = spoken.flatMap((line) => [...cutLine(line), divider]);
  const said = divide(await runEspeak([divider, ...asked], options));
  if (said.length !== spoken.length) {
    const message = `espeak-ng said ${said.length} texts in the voice ${options.voice}, not ${spoken.length}`;
    throw new JobError("server_error", message);
  }
  let next = 0;
  return lines.map((line) => (line === "" ? "" : (said[next++] ?? "")));
}

/** A line can make several lines of phonemes, or none: a nonsense word between texts keeps them apart. */
function randomWord(): string {
  const syllable = () =>
    `${CONSONANTS[randomInt(CONSONANTS.length)]}${VOWELS[randomInt(VOWELS.length)]}`;
  return syllable() + syllable() + syllable();
}

/** Lines between those that are as the first. */
function divide([divider, ...printed]: readonly string[]): string[] {
  const said: string[] = [];
  let open: string[] = [];
  for (const line of printed) {
    if (line !== divider) open.push(line);
    else {
      said.push(open.join(" "));
      open = [];
    }
  }
  return said;
}

/** Pieces of a line, short enough to be read whole; cut between words where there are some. */
function cutLine(line: string): string[] {
  const pieces: string[] = [];
  let piece = "";
  for (const word of line.match(/\S{1,150}\s*/gu) ?? []) {
    if (Buffer.byteLength(piece + word) > MAX_LINE_BYTES) {
      pieces.push(piece);
      piece = "";
    }
    piece += word;
  }
  return [...pieces, piece].map((text) => text.trim()).filter((text) => text !== "");
}

/** The lines that espeak-ng prints. The text goes through standard input, never into an argument. */
async function runEspeak(lines: readonly string[], options: EspeakOptions): Promise<string[]> {
  const { espeakPath, voice, signal } = options;
  throwIfCancelled(signal);
  const args = ["-q", "--ipa", "-b", "1", "-v", voice];
  const group = startProcessGroup(espeakPath, args, { signal, timeoutMs: TIMEOUT_MS });
  try {
    group.child.stdin.end(`${lines.join("\n")}\n`);
    const printed: Buffer[] = [];
    group.child.stdout.on("data", (chunk: Buffer) => printed.push(chunk));
    const exit = await group.exited;
    throwIfCancelled(signal);
    if (group.timedOut)
      throw new JobError("server_error", `espeak-ng took more than ${TIMEOUT_MS} ms`);
    if (exit.code !== 0) throw failure(exit, group.stderrTail(), options);
    const text = Buffer.concat(printed).toString("utf8").replaceAll(LANGUAGE_MARKS, "");
    return text.split("\n").flatMap((line) => line.trim() || []);
  } finally {
    group.kill();
  }
}

function failure(exit: ProcessExit, stderr: string, options: EspeakOptions): JobError {
  const { espeakPath, voice } = options;
  const how = describeExit(exit, stderr);
  // setpriv, where it starts the program, says 127 for one that is not there.
  if (exit.problem !== undefined || exit.code === 126 || exit.code === 127) {
    const message = `espeak-ng does not start (${how}): install it, or set ESPEAK_PATH, now ${espeakPath}`;
    return new JobError("service_unavailable", message);
  }
  if (/voice does not exist/i.test(stderr)) {
    const message = `language must be one that espeak-ng speaks, got ${voice}`;
    return new JobError("invalid_value", message, { param: "language" });
  }
  return new JobError("server_error", `espeak-ng: ${how}`);
}

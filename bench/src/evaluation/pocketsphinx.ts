import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { describeExit, startProcessGroup } from "../../../src/media/process-group.js";

/** What the packaged acoustic model listens to. */
export const HEARD_RATE_HZ = 16_000;
const PROGRAM = "pocketsphinx_batch";
/** Debian's pocketsphinx-en-us. */
const MODEL_FOLDER = "/usr/share/pocketsphinx/model/en-us";

export interface HearOptions {
  /** An ARPA file; the packaged trigrams where absent. */
  readonly languageModel?: string | undefined;
  readonly signal: AbortSignal;
}

/**
 * What Debian's pocketsphinx hears in files of one folder (mono, signed 16 bit, 16 kHz, no header), in
 * lower case. Throws a sentence that names the packages where the program is not installed.
 */
export async function hearSpeech(
  paths: readonly string[],
  options: HearOptions,
): Promise<readonly string[]> {
  if (paths.length === 0) return [];
  const folder = await mkdtemp(join(tmpdir(), "framemill-sphinx-"));
  try {
    const [list, heard] = [join(folder, "list"), join(folder, "heard")];
    await writeFile(list, paths.map((path) => `${basename(path, ".raw")}\n`).join(""));
    const [first = ""] = paths;
    const model = (name: string) => join(MODEL_FOLDER, name);
    const settings = {
      hmm: model("en-us"),
      dict: model("cmudict-en-us.dict"),
      lm: options.languageModel ?? model("en-us.lm.bin"),
      adcin: "yes",
      cepdir: dirname(first),
      cepext: ".raw",
      ctl: list,
      hyp: heard,
      logfn: join(folder, "log"),
    };
    const args = Object.entries(settings).flatMap(([name, value]) => [`-${name}`, value]);
    await run(args, options.signal);
    return parseHypotheses(await readFile(heard, "utf8"), paths.length);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Lines of `words (name score)`, in the order of the list. */
function parseHypotheses(text: string, count: number): string[] {
  const lines = text.split("\n").map((line) =>
    line
      .replace(/\(\S+ -?\d+\)\s*$/, "")
      .replaceAll(/\(\d+\)/g, "")
      .trim(),
  );
  return Array.from({ length: count }, (_, index) => lines[index] ?? "");
}

async function run(args: readonly string[], signal: AbortSignal): Promise<void> {
  const group = startProcessGroup(PROGRAM, args);
  const stop = () => group.kill();
  signal.addEventListener("abort", stop, { once: true });
  try {
    group.child.stdin.end();
    group.child.stdout.resume();
    const exit = await group.exited;
    signal.throwIfAborted();
    if (exit.code === 0) return;
    const needed = "speech is judged by Debian's packages pocketsphinx and pocketsphinx-en-us";
    throw new Error(`${needed}; ${PROGRAM}: ${describeExit(exit, group.stderrTail())}`);
  } finally {
    signal.removeEventListener("abort", stop);
    group.kill();
  }
}

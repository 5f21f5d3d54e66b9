import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { copyFile, mkdir, readFile, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** The peers' programs, in a folder of their own, and the files of random weights that all sides open. */
export interface PeerFiles {
  /** The interpreter of the folder's virtual environment. */
  readonly python: string;
  /** Folder whose node_modules hold the peers from npm, with the programs that use them. */
  readonly npmFolder: string;
  /** A decoder as ONNX Runtime GenAI's builder writes it, and its numbers as GGUF. */
  readonly decoder: string;
  readonly gguf: string;
  /** A sentence encoder with `onnx/model.onnx`. */
  readonly encoder: string;
}

const SOURCES = fileURLToPath(new URL("../../peers/", import.meta.url));

/** A program of this folder by its file's name. */
export function peerProgram(name: string): string {
  return join(SOURCES, name);
}

export const PEERS_FOLDER = join(homedir(), ".cache", "framemill", "peers");

/** Installs what bench/peers locks and writes the weights, once; a later run finds both. */
export async function installPeers(folder: string): Promise<PeerFiles> {
  const environment = join(folder, "venv");
  const npmFolder = join(folder, "npm");
  const weights = join(folder, "weights");
  const python = join(environment, "bin", "python");
  await mkdir(npmFolder, { recursive: true });
  await onceFor(folder, "python", ["requirements.txt"], async () => {
    say(`installing the peers from PyPI into ${environment} (about 450 MB)`);
    await mustRun("python3", ["-m", "venv", environment], {
      sentence: "the peers need python3 with its venv module (Debian: python3-venv)",
    });
    await mustRun(python, ["-m", "pip", "install", "-q", "-r", peerProgram("requirements.txt")], {
      sentence: "PyPI did not give the peers: see what pip says above, and give it a way to PyPI",
    });
  });
  const packages = ["package.json", "package-lock.json"];
  for (const name of [...packages, "jobs.mjs"])
    await copyFile(peerProgram(name), join(npmFolder, name));
  await onceFor(folder, "npm", packages, async () => {
    say(`installing the peers from npm into ${npmFolder}`);
    await mustRun("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund"], {
      cwd: npmFolder,
      sentence: "the registry of npm did not give the peers: see what npm says above",
    });
  });
  await onceFor(folder, "weights", ["models.py", "bpe.py"], async () => {
    say(`writing random weights into ${weights} (about 240 MB)`);
    await mustRun(python, [peerProgram("models.py"), weights], {
      sentence: "the weights could not be written",
    });
  });
  return {
    python,
    npmFolder,
    decoder: join(weights, "decoder"),
    gguf: join(weights, "decoder.gguf"),
    encoder: join(weights, "encoder"),
  };
}

function say(text: string): void {
  process.stderr.write(`peers: ${text}\n`);
}

/** Runs a step unless it has succeeded on the same sources. */
async function onceFor(
  folder: string,
  step: string,
  sources: readonly string[],
  run: () => Promise<void>,
): Promise<void> {
  const hash = createHash("sha256");
  for (const name of sources) hash.update(await readFile(peerProgram(name)));
  const [stamp, wanted] = [join(folder, `${step}.done`), hash.digest("hex")];
  const found = await readFile(stamp, "utf8").catch(() => undefined);
  if (found === wanted) return;
  await run();
  await writeFile(stamp, wanted);
}

interface RunOptions {
  readonly cwd?: string;
  /** What to say of a failure. */
  readonly sentence: string;
}

async function mustRun(command: string, args: readonly string[], { cwd, sentence }: RunOptions) {
  const child = spawn(command, args, { cwd, stdio: ["ignore", "inherit", "inherit"] });
  const ended = await Promise.race([
    once(child, "exit").then(([code]: unknown[]) => code),
    once(child, "error").then(() => "missing"),
  ]);
  if (ended !== 0) throw new Error(sentence);
}

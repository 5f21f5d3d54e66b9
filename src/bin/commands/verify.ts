import { readFile } from "node:fs/promises";
import { messageOf } from "../../core/errors.js";
import { type Verification, verifyMedia } from "../../provenance/index.js";
import { printJson } from "./table.js";

const VERDICTS: Readonly<Record<Verification["mark"], string>> = {
  intact: "signed, and unchanged since",
  expired:
    "signed, and unchanged since, with a certificate that has EXPIRED: who signed is no longer proven",
  changed: "CHANGED since it was signed, or signed wrongly",
  tag: "not signed: a tag says that a model made it, as anybody could have written",
  none: "not marked",
};
const FAILED = 1;
const UNREADABLE = 2;

/** Prints what a file says of its origin. Exit code 0: signed and unchanged, 1: not, 2: it cannot be read. */
export async function verify(
  path: string,
  { trust, json = false }: { readonly trust?: string; readonly json?: boolean },
): Promise<void> {
  try {
    const roots = trust === undefined ? undefined : await readFile(trust, "utf8");
    const found = await verifyMedia(await readFile(path), roots);
    if (json) printJson({ file: path, ...found });
    else print(found);
    if (found.mark !== "intact") process.exitCode = FAILED;
  } catch (thrown) {
    process.stderr.write(`${path}: ${messageOf(thrown)}\n`);
    process.exitCode = UNREADABLE;
  }
}

function print({ mark, signerIs, signer, problems, ...found }: Verification): void {
  const whose =
    signerIs === "trusted"
      ? "an authority you trust vouches for it"
      : "nobody known vouches for it";
  const lines = {
    file: VERDICTS[mark],
    "made by": found.model,
    job: found.job,
    "source type": found.sourceType,
    "written by": found.generator,
    signer: signer === null ? null : `${signer} (${whose})`,
    problems: problems.join(", ") || null,
  };
  for (const [name, value] of Object.entries(lines))
    if (value !== null) process.stdout.write(`${`${name}:`.padEnd(13)}${value}\n`);
}

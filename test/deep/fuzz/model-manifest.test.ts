import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import * as fc from "fast-check";
import { afterAll, beforeAll, expect, it } from "vitest";
import {
  graphPaths,
  listModelFolders,
  loadModelPackage,
  verifyModelPackage,
} from "#framemill/runtime/packages/model-package.js";
import { edits, mutate } from "./mutate.js";
import { NAUGHTY } from "./naughty.js";
import { campaign } from "./run.js";

const modelsDir = fileURLToPath(new URL("../../../models", import.meta.url));
const OUTSIDE = [
  "../x.onnx",
  "/etc/passwd",
  "a/../../x",
  "./x",
  "..",
  "a//b",
  "a\\..\\b",
  "C:\\x",
  "x\0",
];

let folder: string;
let manifests: readonly string[];
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "framemill-manifest-"));
  await mkdir(join(folder, "model"));
  const paths = (await listModelFolders(modelsDir)).map((path) => join(path, "model.json"));
  manifests = await Promise.all(paths.map((path) => readFile(path, "utf8")));
});
afterAll(() => rm(folder, { recursive: true }));

it(
  "a damaged model.json is refused with a sentence, or names files of its own folder only",
  { timeout: 600_000 },
  async () => {
    const path = join(folder, "model");
    await campaign({
      cases: fc.record({
        manifest: fc.nat(100),
        file: fc.option(fc.oneof(fc.constantFrom(...OUTSIDE, ...NAUGHTY), fc.string())),
        edits: fc.option(edits),
      }),
      count: { short: 60, full: 700 },
      check: async ({ manifest, file, edits: changes }) => {
        const text = manifests[manifest % manifests.length] ?? "";
        const named = file === null ? text : withFile(text, file);
        const bytes = changes === null ? Buffer.from(named) : mutate(Buffer.from(named), changes);
        await writeFile(join(path, "model.json"), bytes);
        expect(await loadOutcome(path)).toBe("as it should");
      },
    });
  },
);

/** None of the files is there: whatever a manifest says of them, the model must not load. */
async function loadOutcome(path: string): Promise<string> {
  const model = await loadModelPackage(path).catch((thrown: unknown) => String(thrown));
  if (typeof model === "string")
    return model.includes("model.json") ? "as it should" : `refused without a name: ${model}`;
  const paths = Object.values(graphPaths(model, Object.keys(model.files)));
  const outside = paths.find((each) => /^\.\.|^\/|\0/.test(relative(path, each)));
  if (outside !== undefined) return `names ${outside}`;
  const reason = await verifyModelPackage(model).then(
    () => "nothing missing",
    (thrown: unknown) => String(thrown),
  );
  const isRight = paths.length === 0 || reason.endsWith("is missing");
  return isRight ? "as it should" : `verified: ${reason}`;
}

/** The manifest with another path for its first file. */
function withFile(text: string, path: string): string {
  const manifest = JSON.parse(text) as { files: Record<string, { path: string }> };
  const [role = ""] = Object.keys(manifest.files);
  const files = { ...manifest.files, [role]: { ...manifest.files[role], path } };
  return JSON.stringify({ ...manifest, files });
}

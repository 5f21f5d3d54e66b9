import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { moduleText, shellScript } from "../../../scripts/docs-blocks.mjs";
import { createModelFolders } from "../../support/model-folders.js";
import { BYTES, decoderFiles } from "../../support/tiny-decoder.js";

const runner = fileURLToPath(new URL("../../../scripts/docs-commands.mjs", import.meta.url));

test(
  "every command that the documentation calls runnable ends well",
  { timeout: 600_000 },
  async () => {
    const folders = createModelFolders();
    onTestFinished(() => folders.remove());
    const decoder = decoderFiles({ vocabulary: BYTES, path: "onnx/model.onnx" });
    const env = { ...process.env, MODEL: folders.write("stories260K", decoder) };
    const { stdout } = await promisify(execFile)(process.execPath, [runner, "--run"], { env });
    const [, blocks, pages] = /^(\d+) blocks of (\d+) pages run$/m.exec(stdout) ?? [];
    expect(Number(blocks)).toBeGreaterThan(15);
    expect(Number(pages)).toBeGreaterThan(4);
  },
);

async function failureOf(suffix: string, text: string, program: string): Promise<unknown> {
  const folder = await mkdtemp(join(tmpdir(), "framemill-docs-block-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, `page.${suffix}`);
  await writeFile(file, text);
  return await promisify(execFile)(program, [file]).catch((error: unknown) => error);
}

test("a command that fails is reported with its page and line", async () => {
  const blocks = [
    { line: 3, code: "export NAME=boat" },
    { line: 9, code: 'test "$NAME" = boat\ntest "$NAME" = ship' },
  ];
  const failure = await failureOf("sh", shellScript("docs/page.md", blocks), "bash");
  expect(failure).toMatchObject({ stderr: expect.stringContaining("docs/page.md:10: test") });
});

test("a block of code that throws is reported with its page and line", async () => {
  const blocks = [
    { line: 3, code: 'import { sep } from "node:path";\nconst name = sep;' },
    { line: 9, code: "const other = 1;" },
    { line: 14, code: 'const other = name;\nif (other) throw new Error("no");' },
  ];
  const failure = await failureOf("mjs", moduleText(blocks), process.execPath);
  expect(failure).toMatchObject({ stderr: expect.stringContaining("page.mjs:15") });
});

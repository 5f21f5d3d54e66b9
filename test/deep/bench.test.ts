import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import sharp from "sharp";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

const cli = fileURLToPath(new URL("../../dist/bin/framemill.js", import.meta.url));

describe("a quick bench", () => {
  let out = "";
  let printed = "";
  beforeAll(async () => {
    out = await mkdtemp(join(tmpdir(), "framemill-bench-test-"));
    const args = ["bench", "media", "mlperf-video", "--quick", "--rounds", "1", "--out", out];
    ({ stdout: printed } = await promisify(execFile)(process.execPath, [cli, ...args]));
  });
  afterAll(() => rm(out, { recursive: true, force: true }));

  test("prints a verdict of each target and says what it could not measure", () => {
    expect(printed).toMatch(/frames to MP4, CPU .*≤ 1\.05 +(meets|misses)/);
    expect(printed).toMatch(/^mlperf-video +MLPerf text-to-video .*not measured: needs/m);
    expect(printed).toContain("load average");
  });

  test("writes what it printed as JSON, as Markdown and as a picture", async () => {
    const media = JSON.parse(await readFile(join(out, "media.json"), "utf8"));
    expect(media).toMatchObject({ suite: "media", rows: [{ target: 1.05, unit: "CPU-s" }] });
    const summary = await readFile(join(out, "summary.md"), "utf8");
    expect(summary).toContain(`| ${media.rows[0].ratio.toFixed(3)} | ≤ 1.05 |`);
    const { format, width } = await sharp(join(out, "summary.svg")).metadata();
    expect(format).toBe("svg");
    expect(width).toBeGreaterThan(400);
  });
});

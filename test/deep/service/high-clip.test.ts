import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { probeMedia } from "#framemill/media/probe.js";
import { finishClip, type ServiceProcesses, startUp } from "../../support/service-harness.js";

describe("a high clip of 10 seconds", () => {
  let folder = "";
  let up: ServiceProcesses;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "framemill-high-"));
    up = await startUp(folder);
  });
  afterEach(async () => {
    await up?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  test("has 240 frames of 1920 × 1080 with sound", { timeout: 600_000 }, async () => {
    const prompt = "a red boat sails across the ocean at sunset";
    const body = { model: "service-motion-1", prompt, seconds: "10", quality: "high" };
    const video = await finishClip(up.client, await up.client.videos.create(body as never));
    const path = join(folder, "clip.mp4");
    const content = await up.client.videos.downloadContent(video.id);
    await writeFile(path, Buffer.from(await content.arrayBuffer()));
    expect(await probeMedia(path)).toMatchObject({
      durationSeconds: expect.closeTo(10, 1),
      video: { width: 1920, height: 1080, frameCount: 240 },
      audio: { codec: "aac" },
    });
  });
});

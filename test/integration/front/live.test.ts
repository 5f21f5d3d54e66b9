import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { get, type IncomingMessage } from "node:http";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { liveFolder } from "#framemill/core/artifact.js";
import { sql } from "#framemill/front/ledger/database/sql.js";
import type { Worker } from "#framemill/worker/worker.js";
import {
  call,
  claim,
  createJob,
  type Harness,
  janitorRuns,
  SOON,
  startHarness,
} from "../../support/front-harness.js";
import { type Script, startScriptedWorker } from "../../support/front-workers.js";
import { createGate } from "../../support/queue-harness.js";

const PIECES = [
  ["head", 0, 0],
  ["one", 0, 1_000],
  ["two", 1_000, 3_000],
  ["three", 3_000, 4_000],
] as const;

describe("a clip that is played while it is made", () => {
  let harness: Harness;
  let worker: Worker;
  /** Opens for the piece of the same number, and the last one for the file. */
  let gates = PIECES.map(() => createGate());

  const script: Script = async function* ({ scratchPath }) {
    yield { type: "progress", stage: "frames", fraction: 0.5 };
    for (const [index, [text, startMs, endMs]] of PIECES.entries()) {
      if (index > 0) await gates[index - 1]?.opened;
      yield { type: "live", bytes: Buffer.from(text), startMs, endMs };
    }
    await gates.at(-1)?.opened;
    const path = join(scratchPath, "content.mp4");
    await writeFile(path, "the finished file");
    yield { type: "file", variant: "content", path, mediaType: "video/mp4" };
    yield { type: "output", output: { frameCount: 96 } };
  };
  const open = (...numbers: number[]) => {
    for (const number of numbers) gates[number]?.open();
  };
  const all = PIECES.map((_, index) => index);
  const create = () => createJob(harness.front, harness.account.key);
  const ask = (path: string, method = "GET") =>
    call(`${harness.front.baseUrl}/videos/${path}`, { key: harness.account.key, method });
  const finish = async (id: string) => {
    open(...all);
    await expect.poll(async () => (await ask(`${id}?wait=20`)).json.status, SOON).toBe("completed");
  };
  const refusal = async (path: string) => {
    const { status, json, headers } = await ask(path);
    return [status, json.error.code, json.error.param, headers.get("retry-after")];
  };
  const play = (url: string) => playFrom(url, harness.account.key);

  beforeAll(async () => {
    harness = await startHarness(undefined, { watchesPerProject: 2 });
    worker = await startScriptedWorker(harness, script, ({ modality }) => modality === "video");
  });
  afterAll(async () => {
    open(...all);
    await worker?.stop();
    await harness?.close();
  });
  beforeEach(() => {
    gates = PIECES.map(() => createGate());
  });

  it("reaches viewers with and without a key piece by piece, and ends when it does", async () => {
    const id = await create();
    const keyed = play(`${harness.front.baseUrl}/videos/${id}/content?live=1`);
    const { json: link } = await ask(`${id}/link?live=1`);
    expect(link).toMatchObject({ object: "link", media_type: "video/mp4", expires_in: 3_600 });
    const linked = playFrom(link.url);
    open(0);
    const viewers = await Promise.all([keyed, linked]);
    for (const { headers, heard } of viewers) {
      expect(headers).toMatchObject({ "content-type": "video/mp4", "cache-control": "no-store" });
      await expect.poll(heard, SOON).toBe("headone");
    }
    open(1);
    for (const { heard } of viewers) await expect.poll(heard, SOON).toBe("headonetwo");
    expect((await ask(id)).json.status).toBe("in_progress");
    await finish(id);
    for (const { heard, ended } of viewers) {
      expect(await ended).toBe("whole");
      expect(heard()).toBe("headonetwothree");
    }
    // What is finished is served as ever.
    const headers = { range: "bytes=4-11" };
    const url = `${harness.front.baseUrl}/videos/${id}/content`;
    const part = await call(url, { key: harness.account.key, headers });
    expect([part.status, part.text]).toEqual([206, "finished"]);
  });

  it("is listed for HLS players, the list grows, ends, and is played to its end by who has begun", async () => {
    const id = await create();
    open(0);
    const { text: first, headers } = await ask(`${id}/content?live=hls`);
    expect(headers.get("content-type")).toBe("application/vnd.apple.mpegurl");
    expect(first).toContain("#EXT-X-PLAYLIST-TYPE:EVENT");
    expect(durations(first)).toEqual(["1.000"]);
    const { json: link } = await ask(`${id}/link?live=hls`);
    open(1);
    const listed = async () => (await call(link.url)).text;
    await expect.poll(async () => durations(await listed()), SOON).toEqual(["1.000", "2.000"]);
    expect(await listed()).not.toContain("#EXT-X-ENDLIST");
    await finish(id);
    const last = await listed();
    expect(durations(last)).toEqual(["1.000", "2.000", "1.000"]);
    expect(last).toMatch(/\n#EXT-X-ENDLIST\n$/);
    expect((await ask(`${id}/content?live=hls`)).text.startsWith(first)).toBe(true);
    const urls = [/URI="([^"]+)"/.exec(last)?.[1] ?? "", ...last.split("\n").filter(isAddress)];
    const texts = urls.map(async (url) => (await call(new URL(url, link.url).href)).text);
    expect(await Promise.all(texts)).toEqual(["head", "one", "two", "three"]);
    const forged = new URL(urls[0] ?? "", link.url).href.replace(/signature=./, "signature=x");
    expect((await call(forged)).status).toBe(404);
  });

  it("is refused with a sentence where there is nothing to play", async () => {
    const id = await create();
    expect(await refusal(`${id}/content?live=banana`)).toEqual([
      400,
      "invalid_value",
      "live",
      null,
    ]);
    expect(await refusal(`${id}/content?live=1&variant=thumbnail`)).toEqual([
      409,
      "video_not_live",
      "variant",
      null,
    ]);
    expect(await refusal(`${id}/content?wait=1e9`)).toEqual([400, "invalid_value", "wait", null]);
    expect(await refusal(`${id}/content?live=1&wait=0`)).toEqual([
      409,
      "video_not_ready",
      null,
      "5",
    ]);
    expect(await refusal(`${id}/content?live=hls&wait=1`)).toEqual([
      409,
      "video_not_ready",
      null,
      "5",
    ]);
    expect(await refusal("video_unknown/content?live=1")).toEqual([
      404,
      "video_not_found",
      "id",
      null,
    ]);
    const stranger = await harness.createAccount();
    const url = `${harness.front.baseUrl}/videos/${id}/content?live=1`;
    expect((await call(url, { key: stranger.key })).status).toBe(404);
    await finish(id);
    expect(await refusal(`${id}/content?live=1`)).toEqual([409, "video_not_live", "live", null]);
    expect(await refusal(`${id}/link?live=hls`)).toEqual([409, "video_not_live", "live", null]);
    gates = PIECES.map(() => createGate());
    const cancelled = await create();
    const waiting = refusal(`${cancelled}/content?live=1`);
    await ask(`${cancelled}/cancel`, "POST");
    expect(await waiting).toEqual([409, "video_failed", null, null]);
    expect(await refusal(`${cancelled}/content?live=hls`)).toEqual([
      409,
      "video_failed",
      null,
      null,
    ]);
    open(...all);
    const music = `${harness.front.baseUrl}/music/music_1/content?live=1`;
    const { status, json } = await call(music, { key: harness.account.key });
    expect([status, json.error.param]).toEqual([400, "live"]);
  });

  it("is broken off, not ended, when its job fails", async () => {
    const id = await create();
    open(0);
    const viewer = await play(`${harness.front.baseUrl}/videos/${id}/content?live=1`);
    await expect.poll(viewer.heard, SOON).toBe("headone");
    await ask(`${id}/cancel`, "POST");
    expect(await viewer.ended).toBe("broken off");
    open(...all);
  });

  it("waits for no viewer, and counts those who are there among the streams of their project", async () => {
    const id = await create();
    const url = `${harness.front.baseUrl}/videos/${id}/content?live=1`;
    open(0);
    const viewers = [await play(url), await play(url)];
    for (const viewer of viewers) viewer.pause();
    const { status, json } = await ask(`${id}/content?live=1`);
    expect([status, json.error.code]).toEqual([429, "rate_limit_exceeded"]);
    await finish(id);
    for (const viewer of viewers) viewer.hangUp();
    const next = await create();
    const again = async () => (await ask(`${next}?wait=1`)).status;
    await expect.poll(again, SOON).toBe(200);
  });

  it("goes on with the pieces of a second attempt, and is listed with what they are played with", async () => {
    // No worker takes it: its pieces come from here.
    const other = await startHarness();
    try {
      const id = await createJob(other.front, other.account.key);
      await claim(other.front, id);
      const put = (attempt: number, name: string, text: string) =>
        other.store.putBytes(
          { id: `${liveFolder(id, attempt)}${name}`, variant: "live", mediaType: "video/mp4" },
          Buffer.from(text),
        );
      await put(1, "head.mp4", "head");
      await put(1, "0-1000.m4s", "one");
      const url = `${other.front.baseUrl}/videos/${id}/content?live=`;
      const viewer = await playFrom(`${url}1`, other.account.key);
      await put(2, "head.mp4", "head");
      await put(2, "0-1000.m4s", "one again");
      await put(2, "1000-3000.m4s", "two");
      await expect.poll(viewer.heard, SOON).toBe("headonetwo");
      await put(3, "head.mp4", "another head");
      await put(3, "3000-4000.m4s", "three");
      // One stream has one head: a list may have several.
      expect(await viewer.ended).toBe("broken off");
      const { text } = await call(`${url}hls`, { key: other.account.key });
      expect(durations(text)).toEqual(["1.000", "2.000", "1.000"]);
      expect(text.match(/#EXT-X-(MAP|DISCONTINUITY)/g)).toHaveLength(5);
      expect(text).toMatch(/live\/1\/0-1000[^]+live\/2\/1000-3000[^]+live\/3\/3000-4000/);
    } finally {
      await other.close();
    }
  });

  it("leaves nothing in the store but its files, minutes after its end", async () => {
    const id = await create();
    await finish(id);
    const files = () => harness.store.list(`${id}/`);
    expect(await files()).toHaveLength(PIECES.length + 1);
    await janitorRuns(harness);
    expect(await files()).toHaveLength(PIECES.length + 1);
    await sql`UPDATE jobs SET ended_at = ended_at - interval '6 minutes'
      WHERE id = ${id}`.execute(harness.database);
    await janitorRuns(harness);
    await expect.poll(files, SOON).toEqual([`${id}/1/content.mp4`]);
    expect(await refusal(`${id}/content?live=hls`)).toEqual([409, "video_not_live", "live", null]);
  });
});

function isAddress(line: string): boolean {
  return line !== "" && !line.startsWith("#");
}

function durations(list: string): (string | undefined)[] {
  return [...list.matchAll(/#EXTINF:([\d.]+),/g)].map(([, seconds]) => seconds);
}

/** A viewer, who has the head of the answer. */
async function playFrom(url: string, key?: string) {
  const headers = key === undefined ? {} : { authorization: `Bearer ${key}` };
  const request = get(url, { headers, agent: false });
  const [response] = (await once(request, "response")) as [IncomingMessage];
  const chunks: Buffer[] = [];
  response.on("data", (chunk: Buffer) => chunks.push(chunk));
  response.on("error", () => {});
  const ended = new Promise<string>((resolve) => {
    response.once("close", () => resolve(response.complete ? "whole" : "broken off"));
  });
  return {
    headers: response.headers,
    ended,
    /** Without the boxes that have no content. */
    heard: () =>
      Buffer.concat(chunks)
        .toString("latin1")
        .replaceAll(/\0\0.\0free\0*/gs, ""),
    pause: () => response.pause(),
    hangUp: () => response.destroy(),
  };
}

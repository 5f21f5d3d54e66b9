import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Browser, BrowserContext, Page, Route } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  accessibilityProblems,
  hasChromium,
  openChromium,
  overflowPixels,
} from "../support/chromium.js";
import { createGate } from "../support/queue-harness.js";
import { type ServiceProcesses, startUp } from "../support/service-harness.js";

const ADMIN_KEY = "an-admin-key-of-some-length";
const PROMPT = "a red boat sails across the ocean at sunset";
const PHONE = { width: 390, height: 844 };
const DESK = { width: 1280, height: 860 };
const WAIT = { timeout: 20_000 };
const CLIP_MS = 120_000;
const VIDEO = `document.querySelector("video")`;
/** Remembers the state of the run whenever a clip has played on, and from where a file takes over; runs in the browser. */
const WATCH_PLAYED = `
  globalThis.played = { states: [], lastSeconds: 0, jumpSeconds: 0 };
  document.addEventListener("timeupdate", ({ target }) => {
    const { state } = document.querySelector(".status").dataset;
    const isFile = target.hasAttribute("src");
    if (!isFile && target.currentTime > 0.1) played.states.push(state);
    if (!isFile) played.lastSeconds = target.currentTime;
  }, true);
  document.addEventListener("seeked", ({ target }) => {
    played.jumpSeconds ||= target.currentTime - played.lastSeconds;
  }, { capture: true, once: true });`;
/** Goes to the third second and waits for its frame; runs in the browser. */
const SEEK = `(async (element) => {
  element.pause();
  const done = new Promise((resolve) => element.addEventListener("seeked", resolve, { once: true }));
  element.currentTime = 3;
  await done;
  return [element.duration, element.currentTime, element.videoWidth];
})(${VIDEO})`;
/** Remembers what the page holds by object URLs; runs in the browser before the page's own code. */
const WATCH_HELD = `
  globalThis.held = new Set();
  const { createObjectURL, revokeObjectURL } = URL;
  URL.createObjectURL = (file) => {
    const url = createObjectURL.call(URL, file);
    held.add(url);
    return url;
  };
  URL.revokeObjectURL = (url) => {
    held.delete(url);
    revokeObjectURL.call(URL, url);
  };`;
/** Where pictures of the pages go, where somebody wants them. */
const SHOTS = process.env["PAGES_SHOTS"];

describe.skipIf(!hasChromium())("the pages in a browser", () => {
  let folder = "";
  let up: ServiceProcesses;
  let browser: Browser;
  let context: BrowserContext;
  let page: Page;
  let origin = "";
  /** Whatever any page asked for. */
  const asked: string[] = [];
  const refused: string[] = [];
  /** Status of each answer that brought a file. */
  const parts: number[] = [];

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "framemill-pages-"));
    if (SHOTS !== undefined) await mkdir(SHOTS, { recursive: true });
    const models =
      "service-motion-1,service-chat-1,service-moderate-1,service-rerank-1,service-voice-1,service-transcribe-1";
    const environment = { ADMIN_KEY, MODELS: models };
    [up, browser] = await Promise.all([startUp(folder, { environment }), openChromium()]);
    origin = new URL(up.baseUrl).origin;
    context = await browser.newContext({ viewport: DESK, colorScheme: "light" });
    context.on("request", (request) => asked.push(request.url()));
    context.on("response", (response) => {
      if (response.url().includes("/files/")) parts.push(response.status());
    });
    context.on("console", (message) => {
      if (/content security policy/i.test(message.text())) refused.push(message.text());
    });
    context.on("weberror", (error) => refused.push(error.error().message));
    await context.addInitScript(WATCH_HELD);
    page = await context.newPage();
  });
  afterAll(async () => {
    await browser?.close();
    await up?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  const shoot = async (name: string, fullPage = false) => {
    if (SHOTS !== undefined) await page.screenshot({ path: join(SHOTS, `${name}.png`), fullPage });
  };
  const give = async (label: string, key: string) => {
    await page.getByLabel(label, { exact: true }).fill(key);
    await page.getByRole("button", { name: "Use" }).click();
  };
  const state = () => page.locator(".status").getAttribute("data-state");
  const run = async () => await page.getByRole("button", { name: "Run", exact: true }).click();
  /** In both colours, at the desk and on a phone: nothing that axe finds, nothing beside the window. */
  const look = async (name: string) => {
    await page.evaluate("scrollTo(0, 0)");
    for (const colorScheme of ["dark", "light"] as const) {
      await page.emulateMedia({ colorScheme });
      expect(await accessibilityProblems(page)).toEqual([]);
      await shoot(`${name}-${colorScheme}`);
    }
    await page.setViewportSize(PHONE);
    expect(await overflowPixels(page)).toBe(0);
    expect(await accessibilityProblems(page)).toEqual([]);
    await shoot(`${name}-phone`);
    await page.setViewportSize(DESK);
  };

  it("refuses a wrong admin key in a sentence, and makes a project's key with the right one", async () => {
    await page.goto(`${origin}/operations`);
    await give("Admin key", "not-the-key");
    expect(await page.getByRole("alert").textContent()).toBe("This key is not known here.");
    await give("Admin key", ADMIN_KEY);
    await page.getByLabel("Project", { exact: true }).fill("studio");
    await page.getByRole("button", { name: "Make a key" }).click();
    const key = await page.locator(".made code").textContent();
    expect(key).toMatch(/^fm_\w{43}$/);
    await page.goto(`${origin}/playground`);
    await give("API key", key ?? "");
    await expect.poll(() => page.getByLabel("Model").inputValue(), WAIT).toBe("service-motion-1");
    // The key lives in the tab, and nowhere else.
    expect(await page.evaluate("[localStorage.length, document.cookie]")).toEqual([0, ""]);
  });

  it("makes a clip that plays while it is made, plays on and seeks, and says what it cost", async () => {
    await page.getByLabel("Prompt", { exact: true }).fill(PROMPT);
    await page.evaluate(WATCH_PLAYED);
    await run();
    await page.getByLabel("The clip while it is made").waitFor({ timeout: CLIP_MS });
    const bar = page.getByRole("progressbar", { name: "Progress" });
    expect(Number(await bar.getAttribute("value"))).toBeGreaterThan(0);
    expect(await page.locator(".status").textContent()).toContain("will cost $0.72");
    const running = () => page.evaluate<string>("played.states.join()");
    await expect.poll(running, WAIT).toMatch(/^running/);
    await shoot("playground-running");
    const video = page.locator("video[src]");
    await video.waitFor({ timeout: CLIP_MS });
    // The finished file goes on where the clip is then.
    expect(await page.getByLabel("The clip while it is made").count()).toBe(0);
    expect(Math.abs(await page.evaluate<number>("played.jumpSeconds"))).toBeLessThan(0.5);
    const now = () => page.evaluate<number>(`${VIDEO}.currentTime`);
    await expect.poll(now, WAIT).toBeGreaterThan(0.2);
    const seen = await page.evaluate<number[]>(SEEK);
    expect(seen).toEqual([4, 3, 1280]);
    expect(parts).toContain(206);
    await expect.poll(() => page.locator(".status").textContent(), WAIT).toContain("cost $0.72");
    // Of all previews the last one is kept: the clip's poster, and its card in the gallery.
    await expect.poll(() => page.evaluate("held.size"), WAIT).toBe(2);
    expect(await page.locator("main").textContent()).not.toContain("{image_url}");
    await look("playground");
  });

  it("plays the first second of a long clip before it is completed", async () => {
    const { client } = up;
    const body = { model: "service-motion-1", prompt: PROMPT, seconds: "10" };
    const { id } = await client.videos.create(body as never);
    const { url } = await client.get<{ url: string }>(`/videos/${id}/link?live=1`);
    const player = await context.newPage();
    await player.goto(`${origin}/playground`);
    await player.evaluate(`
      globalThis.clip = Object.assign(document.createElement("video"), { src: "${url}", muted: true });
      void clip.play();`);
    const now = () => player.evaluate<number>("clip.currentTime");
    await expect.poll(now, { ...WAIT, interval: 50 }).toBeGreaterThan(1);
    expect((await client.videos.retrieve(id)).status).toBe("in_progress");
    await expect.poll(() => player.evaluate("clip.ended"), { timeout: CLIP_MS }).toBe(true);
    expect(await player.evaluate("clip.duration")).toBeCloseTo(10, 0);
    await player.close();
  });

  it("keeps what was made through a reload, and holds two of one seed side by side", async () => {
    await page.reload();
    await page.locator("video").waitFor(WAIT);
    expect(await page.locator(".card").count()).toBe(1);
    expect(await page.getByLabel("Prompt", { exact: true }).inputValue()).toBe(PROMPT);
    await page.getByRole("button", { name: /^Keep seed/ }).click();
    await page.getByRole("button", { name: "Compare with the next" }).click();
    await page.getByRole("button", { name: "a fox in the snow" }).click();
    await page.route("**/events", (route) => route.abort(), { times: 1 });
    await page.getByLabel("Prompt", { exact: true }).press("Control+Enter");
    await page.getByText("The connection is lost. The job goes on").waitFor(WAIT);
    await expect.poll(() => page.locator("video").count(), { timeout: CLIP_MS }).toBe(2);
    const differences = page.locator(".differences");
    expect(await differences.allTextContents()).toEqual([
      "prompta fox in the snow",
      `prompt${PROMPT}`,
    ]);
    await look("playground-compared");
    await page.getByRole("button", { name: "Stop comparing" }).click();
    await expect.poll(() => page.locator("video").count(), WAIT).toBe(1);
  });

  it("shows the answer before the form on a phone", async () => {
    await page.setViewportSize(PHONE);
    const topOf = async (what: string) => (await page.locator(what).boundingBox())?.y ?? NaN;
    expect(await topOf(".result")).toBeLessThan(await topOf("form.request"));
    await page.setViewportSize(DESK);
  });

  it("ends a clip that is cancelled before its id is known, at no cost", async () => {
    const cancelled = createGate();
    const answerLate = async (route: Route) => {
      const response = await route.fetch();
      await cancelled.opened;
      await route.fulfill({ response });
    };
    await page.route("**/v1/videos", answerLate, { times: 1 });
    await run();
    await page.getByRole("button", { name: "Cancel", exact: true }).click();
    cancelled.open();
    await expect.poll(state, { timeout: CLIP_MS }).toBe("cancelled");
    expect(await page.locator(".status").textContent()).toContain("cost $0.00");
  });

  it("streams a chat, and gives code that the stock client runs to the same end", async () => {
    await page.getByRole("link", { name: "Chat" }).click();
    await expect.poll(() => page.evaluate("held.size"), WAIT).toBe(0);
    await page.getByLabel("Message").fill("What is 2 + 3?");
    await run();
    await expect.poll(state, WAIT).toBe("done");
    expect(await page.locator(".conversation .text").textContent()).toMatch(/^Answer:./);
    await expect
      .poll(() => page.locator(".status").textContent(), WAIT)
      .toMatch(/cost \$0\.0000\d/);
    await page.getByText("OpenAI code").click();
    const code = (await page.locator(".code pre").textContent()) ?? "";
    const FRAMEMILL_KEY = await page.getByLabel("API key").inputValue();
    expect(code).not.toContain(FRAMEMILL_KEY);
    const node = ["--input-type=module", "--eval", code];
    const env = { ...process.env, FRAMEMILL_KEY };
    const { stdout } = await promisify(execFile)(process.execPath, node, { env });
    expect(stdout).toContain("chat.completion.chunk");
  });

  it("goes on with a conversation, also after a reload", async () => {
    await page.reload();
    const turns = page.locator(".conversation li");
    await expect.poll(() => turns.count(), WAIT).toBe(2);
    const sent = page.waitForRequest((request) => request.url().endsWith("/chat/completions"));
    await page.getByLabel("Message").fill("And 3 + 3?");
    await page.getByLabel("Message").press("Control+Enter");
    const { messages } = (await sent).postDataJSON() as { messages: { role: string }[] };
    expect(messages.map(({ role }) => role)).toEqual(["user", "assistant", "user"]);
    await expect.poll(() => turns.count(), WAIT).toBe(4);
    await expect.poll(state, WAIT).toBe("done");
    expect(await page.locator(".card").count()).toBe(1);
    await look("playground-chat");
  });

  it("draws a sound from its start to its end, and hands it to be transcribed", async () => {
    await page.getByRole("link", { name: "Speech" }).click();
    await run();
    const bars = page.getByRole("img", { name: "Loudness from start to end" }).locator("rect");
    await expect.poll(() => bars.count(), WAIT).toBeGreaterThan(100);
    const heights = await bars.evaluateAll((all) => all.map((one) => one.getAttribute("height")));
    expect(new Set(heights).size).toBeGreaterThan(10);
    await look("playground-speech");
    await page.getByRole("button", { name: "Transcribe it" }).click();
    await run();
    await expect.poll(state, WAIT).toBe("done");
    expect(await page.locator(".result .text").textContent()).toMatch(/noon/i);
    await page.getByRole("link", { name: "Speech" }).click();
  });

  it("says in words that the front cannot be reached, and finds it again", async () => {
    await context.setOffline(true);
    await run();
    const alert = page.getByRole("alert");
    await expect.poll(() => alert.textContent(), WAIT).toMatch(/cannot be reached/);
    await context.setOffline(false);
    await page.getByRole("button", { name: "Try again" }).click();
    await expect.poll(state, WAIT).toBe("done");
  });

  it("opens with the key of a link, and takes it out of the address", async () => {
    const linked = await context.newPage();
    await linked.goto(`${origin}/playground#key=${up.apiKey}`);
    await expect.poll(() => linked.getByLabel("API key").inputValue(), WAIT).toBe(up.apiKey);
    expect(linked.url()).toBe(`${origin}/playground`);
    // What another key made is not shown to this one.
    await linked.getByLabel("Model").waitFor(WAIT);
    expect(await linked.locator(".card").count()).toBe(0);
    await linked.close();
  });

  it("orders documents and judges texts, and says which field is wrong", async () => {
    await page.getByRole("link", { name: "Rerank" }).click();
    await run();
    await expect.poll(state, WAIT).toBe("done");
    const last = page.locator(".scores tbody tr").last();
    expect(await last.textContent()).toContain("a bowl of soup");
    await page.getByRole("link", { name: "Moderation" }).click();
    await run();
    await expect.poll(state, WAIT).toBe("done");
    expect(await page.locator(".result").textContent()).toContain("Not flagged");
    await page.getByRole("link", { name: "Video" }).click();
    await page.getByText("More options").click();
    await page.getByLabel("Size").fill("1x1");
    await run();
    await expect
      .poll(() => page.locator("#field-size-problem").textContent(), WAIT)
      .toMatch(/size must be/);
    await page.getByLabel("Size").fill("");
  });

  it("shows charge and cancelled clip to the operator, drains, and shows the next one's steps", async () => {
    const desk = page;
    page = await context.newPage();
    await page.goto(`${origin}/operations`);
    await give("Admin key", ADMIN_KEY);
    const rows = (table: string, text: string) =>
      page.getByRole("table", { name: table }).getByRole("row").filter({ hasText: text });
    await expect.poll(() => rows("Latest jobs", "$0.72").count(), WAIT).toBe(2);
    await expect.poll(() => rows("Latest jobs", "cancelled").count(), WAIT).toBe(1);
    const failures = rows("Failures of the last hour by reason", "cancelled");
    await expect.poll(() => failures.count(), WAIT).toBe(1);
    await page.getByLabel("Modality", { exact: true }).selectOption("chat");
    await expect.poll(() => failures.count(), WAIT).toBe(0);
    await expect.poll(() => rows("Latest jobs", "service-motion-1").count(), WAIT).toBe(0);
    await page.getByLabel("Modality", { exact: true }).selectOption("");
    await page.getByRole("radio", { name: "Failed" }).check({ force: true });
    await expect.poll(() => rows("Latest jobs", "service-chat-1").count(), WAIT).toBe(0);
    await expect.poll(() => rows("Latest jobs", "cancelled").count(), WAIT).toBe(1);
    await page.getByRole("radio", { name: "All" }).check({ force: true });
    await context.setOffline(true);
    await expect.poll(() => page.getByRole("alert").textContent(), WAIT).toMatch(/be reached/);
    await context.setOffline(false);
    await expect.poll(() => page.getByRole("alert").count(), WAIT).toBe(0);
    await expect
      .poll(() => rows("Money by project", "studio").textContent(), WAIT)
      .toContain("$1.44");
    const draining = page.locator(".badge[data-state=draining]");
    await page.getByRole("button", { name: /^Drain/ }).click();
    await expect.poll(() => draining.count(), WAIT).toBe(1);
    await page.getByRole("button", { name: /^Let take jobs/ }).click();
    await expect.poll(() => draining.count(), WAIT).toBe(0);
    await desk.getByLabel("Seconds").fill("10");
    await desk.getByLabel("Quality").selectOption("high");
    await desk.getByRole("button", { name: "Run", exact: true }).click();
    const held = page.locator(".held li");
    await expect
      .poll(() => held.textContent(), { timeout: CLIP_MS })
      .toMatch(/service-motion-1.*(steps|frames)/);
    // A job that goes on is followed again by the page that is loaded again.
    await desk.reload();
    const shown = () => desk.locator(".status").getAttribute("data-state");
    await expect.poll(shown, WAIT).toBe("running");
    // A quick machine finishes the clip while it is looked at.
    const cancel = desk.getByRole("button", { name: "Cancel", exact: true });
    await Promise.all([look("operations"), cancel.click()]);
  });

  it("asks nobody else for anything, and breaks none of its own rules", async () => {
    expect(asked.length).toBeGreaterThan(20);
    const foreign = asked.filter(
      (url) => !/^(blob|data):/.test(url) && new URL(url).origin !== origin,
    );
    expect(foreign).toEqual([]);
    expect(refused).toEqual([]);
    const { headers } = await fetch(`${origin}/playground`);
    const policy = headers.get("content-security-policy") ?? "";
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toMatch(/unsafe|\*/);
    const asset = await fetch(`${origin}/assets/style.css`);
    const etag = asset.headers.get("etag") ?? "";
    const again = await fetch(`${origin}/assets/style.css`, {
      headers: { "if-none-match": etag, "cache-control": "max-age=0" },
    });
    expect([asset.status, again.status]).toEqual([200, 304]);
  });
});

import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { installPythonPackages } from "../../../scripts/python-packages.mjs";
import { describeWithPython } from "../../support/python.js";
import {
  finishClip,
  runCommand,
  type ServiceProcesses,
  startUp,
} from "../../support/service-harness.js";

const run = promisify(execFile);
const reader = fileURLToPath(new URL("read.py", import.meta.url));
const GENERATED = "http://cv.iptc.org/newscodes/digitalsourcetype/trainedAlgorithmicMedia";

interface Made {
  readonly path: string;
  readonly model: string;
  readonly job: string | RegExp;
}

describeWithPython("media of every endpoint", () => {
  let folder: string;
  let up: ServiceProcesses;
  let python: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "framemill-provenance-"));
    [up, python] = await Promise.all([
      startUp(join(folder, "data"), { environment: { MODELS: "" } }),
      installPythonPackages("provenance").then((bin) => join(bin, "python")),
    ]);
  }, 600_000);
  afterAll(async () => {
    await up?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  const keep = async (name: string, bytes: Uint8Array): Promise<string> => {
    const path = join(folder, name);
    await writeFile(path, bytes);
    return path;
  };
  const makeClip = async (): Promise<Made> => {
    const { client } = up;
    const body = { model: "service-motion-1", prompt: "a red boat", seconds: "4" } as const;
    const { id } = await finishClip(client, await client.videos.create(body));
    const content = await client.videos.downloadContent(id);
    const path = await keep("clip.mp4", new Uint8Array(await content.arrayBuffer()));
    return { path, model: body.model, job: id };
  };
  const makePicture = async (format: "png" | "jpeg" | "webp"): Promise<Made> => {
    const model = "service-image-1";
    const body = { model, prompt: "a red boat", quality: "low", output_format: format } as const;
    const { data } = await up.client.images.generate(body);
    const path = await keep(`picture.${format}`, Buffer.from(data?.[0]?.b64_json ?? "", "base64"));
    return { path, model, job: /^img_/ };
  };
  const speak = async (format: "mp3" | "wav" | "flac"): Promise<Made> => {
    const model = "service-voice-1";
    const body = { model, voice: "alloy", input: "A red boat.", response_format: format } as const;
    const sound = await up.client.audio.speech.create(body);
    const path = await keep(`speech.${format}`, new Uint8Array(await sound.arrayBuffer()));
    return { path, model, job: /^speech_/ };
  };
  const compose = async (format: "mp3" | "wav" | "flac"): Promise<Made> => {
    const model = "service-music-1";
    const headers = { authorization: `Bearer ${up.apiKey}`, "content-type": "application/json" };
    const ask = async (path: string, init: RequestInit = {}) =>
      await fetch(`${up.baseUrl}/music${path}`, { headers, ...init });
    const body = JSON.stringify({
      model,
      prompt: "a calm piano",
      seconds: 5,
      response_format: format,
    });
    const { id } = (await (await ask("", { method: "POST", body })).json()) as { id: string };
    await expect
      .poll(
        async () => ((await (await ask(`/${id}?wait=10`)).json()) as { status: string }).status,
        {
          timeout: 120_000,
        },
      )
      .toBe("completed");
    const content = await ask(`/${id}/content`);
    const path = await keep(`music.${format}`, new Uint8Array(await content.arrayBuffer()));
    return { path, model, job: id };
  };
  const readAll = async (paths: readonly string[]) => {
    const { stdout } = await run(python, [reader, ...paths]);
    return stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, string>);
  };

  test(
    "says its source type, model and job to C2PA's own reader, and that one byte was changed",
    { timeout: 600_000 },
    async () => {
      const made: Made[] = [await makeClip()];
      for (const format of ["png", "jpeg", "webp"] as const) made.push(await makePicture(format));
      for (const format of ["mp3", "wav", "flac"] as const)
        made.push(await speak(format), await compose(format));
      const found = await readAll(made.map(({ path }) => path));
      for (const [at, { path, model, job }] of made.entries()) {
        const { job: said, ...rest } = found[at] ?? {};
        expect([path, rest]).toEqual([path, { state: "Valid", source: GENERATED, model }]);
        expect(said).toMatch(job);
      }

      const changed = await Promise.all(
        made.map(async ({ path }) => {
          const bytes = await readFile(path);
          const at = Math.floor(bytes.length * 0.6);
          bytes[at] = (bytes[at] ?? 0) ^ 1;
          return await keep(path.replace(/.*\//, "changed-"), bytes);
        }),
      );
      for (const { state } of await readAll(changed)) expect(state).toBe("Invalid");
      expect(
        JSON.parse(await runCommand(["verify", made[0]?.path ?? "", "--json"], {})),
      ).toMatchObject({
        mark: "intact",
        model: "service-motion-1",
        signerIs: "unknown",
      });
      await expect(runCommand(["verify", changed[0] ?? ""], {})).rejects.toMatchObject({
        code: 1,
        stdout: expect.stringContaining("CHANGED since it was signed"),
      });
    },
  );
});

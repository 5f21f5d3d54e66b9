import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type default as OpenAI, toFile } from "openai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { sharp } from "#framemill/media/image.js";
import { inParallel } from "#framemill/core/async/in-parallel.js";
import { finishPiece } from "#framemill/modalities/speech/pieces.js";
import { distance } from "../../support/embedding-vectors.js";
import { runCommand, startUp, type ServiceProcesses } from "../../support/service-harness.js";

/** Tiny exports of published architectures, with what PyTorch finds (scripts/export). */
const FOLDER = fileURLToPath(new URL("../../fixtures/published", import.meta.url));

interface Golden {
  readonly model: string;
  readonly exporter: string;
  readonly modality: string;
  /** Options of `models add`. */
  readonly add?: Readonly<Record<string, string>>;
  /** Greatest difference from the reference's numbers; texts and counts are equal. */
  readonly tolerance: number;
  readonly cases: readonly { readonly request: object; readonly expected: Expected }[];
}

type Expected = Readonly<Record<string, unknown>>;

interface Row {
  readonly name: string;
  readonly golden: Golden;
  /** What `models add` said, or why it did not add. */
  added: string;
  /** Greatest difference seen. */
  difference?: number;
}

const rows: Row[] = readdirSync(FOLDER).map((name) => ({
  name,
  golden: JSON.parse(readFileSync(join(FOLDER, name, "golden.json"), "utf8")) as Golden,
  added: "",
}));

/** What the service answers, in the words of `expected`; numbers that need not be equal come apart. */
interface Answer {
  readonly exact: object;
  readonly near: readonly number[];
}

type Ask = (client: OpenAI, body: Readonly<Record<string, unknown>>) => Promise<Answer>;

const ASK: Readonly<Record<string, Ask>> = {
  async chat(client, body) {
    const answer = await client.chat.completions.create(body as never);
    const { choices, usage } = answer as OpenAI.ChatCompletion;
    const [choice] = choices;
    return {
      exact: { content: choice?.message.content, promptTokens: usage?.prompt_tokens },
      near: [choice?.logprobs?.content?.[0]?.logprob ?? Number.NaN],
    };
  },
  async embeddings(client, body) {
    const { data, usage } = await client.embeddings.create(body as never);
    const near = data.flatMap(({ embedding }) => embedding);
    return { exact: { promptTokens: usage.prompt_tokens }, near };
  },
  /** From words, or from a picture. */
  async image(client, { image, mask, ...body }) {
    const { data = [] } =
      image === undefined
        ? await client.images.generate(body as never)
        : await client.images.edit({
            ...body,
            image: await upload(image),
            ...(mask !== undefined && { mask: await upload(mask) }),
          } as never);
    const pictures = data.map(({ b64_json: base64 = "" }) => Buffer.from(base64, "base64"));
    return { exact: { count: data.length }, near: await coloursOf(pictures) };
  },
  async rerank(client, body) {
    const { results } = await client.post<{
      results: { readonly index: number; readonly relevance_score: number }[];
    }>("/rerank", { body });
    const byDocument = results.toSorted((a, b) => a.index - b.index);
    return { exact: {}, near: byDocument.map(({ relevance_score }) => relevance_score) };
  },
  async speech(client, body) {
    const answer = await client.audio.speech.create(body as never);
    const wav = Buffer.from(await answer.arrayBuffer());
    // Behind the samples stand a comment and the manifest.
    const words = Array.from({ length: wav.readUInt32LE(40) / 2 }, (_, at) =>
      wav.readInt16LE(44 + 2 * at),
    );
    return { exact: { sampleRate: wav.readUInt32LE(24) }, near: words.map((it) => it / 32_767) };
  },
  async transcription(client, { file, ...body }) {
    const bytes = readFileSync(join(FOLDER, String(body["model"]), String(file)));
    const sound = new File([bytes], String(file));
    const asked = { ...body, file: sound, include: ["logprobs"] };
    const { text, logprobs } = await client.audio.transcriptions.create(asked as never);
    return { exact: { text }, near: (logprobs ?? []).map(({ logprob }) => logprob ?? Number.NaN) };
  },
  async moderation(client, body) {
    const { results } = await client.moderations.create(body as never);
    return { exact: {}, near: results.flatMap((it) => Object.values(it.category_scores)) };
  },
  // A clip's numbers are compared before they are encoded (video-wan.test.ts).
  async video(client, body) {
    const { id } = await client.post<{ readonly id: string }>("/videos", { body });
    const ask = () => client.get<Record<string, unknown>>(`/videos/${id}?wait=60`);
    let { status, size, seconds } = await ask();
    while (status === "queued" || status === "in_progress")
      ({ status, size, seconds } = await ask());
    return { exact: { status, size, seconds }, near: [] };
  },
};

function upload(bytes: unknown) {
  return toFile(bytes as Buffer, "picture.png", { type: "image/png" });
}

/** Red, green and blue of every pixel, 0 to 1. */
async function coloursOf(pictures: readonly Buffer[]): Promise<number[]> {
  const colours = pictures.map((bytes) => sharp(bytes).removeAlpha().raw().toBuffer());
  return (await Promise.all(colours)).flatMap((rgb) => Array.from(rgb, (value) => value / 255));
}

interface SpokenCase {
  /** Float32. */
  readonly samples: Buffer;
  readonly sampleRate: number;
  readonly speed: number;
}

/** The reference's side of an answer. */
const EXPECT: Readonly<Record<string, (expected: never) => Answer | Promise<Answer>>> = {
  chat: ({ firstLogprob, ...exact }: { firstLogprob: number }) => ({ exact, near: [firstLogprob] }),
  embeddings: ({ vectors, ...exact }: { vectors: number[][] }) => ({ exact, near: vectors.flat() }),
  image: async (pictures: Readonly<Record<string, Buffer>>) => ({
    exact: { count: Object.keys(pictures).length },
    near: await coloursOf(Object.values(pictures)),
  }),
  rerank: ({ scores }: { scores: number[] }) => ({ exact: {}, near: scores }),
  /** The model's own samples; their ends are evened and faded as the service does it. */
  speech: ({ samples, sampleRate, speed }: SpokenCase) => {
    const floats = new Float32Array(Uint8Array.from(samples).buffer);
    const said = finishPiece(floats, { sampleRateHz: sampleRate, pauseMs: 0, speed });
    return { exact: { sampleRate }, near: Array.from(said) };
  },
  transcription: ({ logprobs, ...exact }: { logprobs: number[] }) => ({ exact, near: logprobs }),
  moderation: ({ category_scores: all }: { category_scores: Record<string, number>[] }) => ({
    exact: {},
    near: all.flatMap((scores) => MODERATION.map((category) => scores[category] ?? 0)),
  }),
  video: (exact: Expected) => ({ exact, near: [] }),
};

/** In the order of an answer. */
const MODERATION = [
  "harassment",
  "harassment/threatening",
  "hate",
  "hate/threatening",
  "illicit",
  "illicit/violent",
  "self-harm",
  "self-harm/intent",
  "self-harm/instructions",
  "sexual",
  "sexual/minors",
  "violence",
  "violence/graphic",
];

describe("models that people bring", () => {
  const folder = mkdtempSync(join(tmpdir(), "framemill-published-"));
  const environment = { MODELS_DIR: join(folder, "models") };
  let service: ServiceProcesses;

  beforeAll(async () => {
    await inParallel(
      rows,
      undefined,
      async (row) => {
        const options = Object.entries(row.golden.add ?? {}).flatMap(([key, value]) => [
          `--${key}`,
          value,
        ]);
        const args = [
          "models",
          "add",
          join(FOLDER, row.name, "model"),
          "--id",
          row.name,
          ...options,
        ];
        row.added = await runCommand(args, { ...process.env, ...environment }).catch(String);
      },
      2,
    );
    service = await startUp(join(folder, "data"), { environment, flags: ["--no-limits"] });
  }, 600_000);

  afterAll(async () => {
    await service?.stop();
    rmSync(folder, { recursive: true, force: true });
    process.stdout.write(`${tableOf(rows)}\n`);
  });

  test.for(rows)("$name answers with the reference's numbers", async (row) => {
    const { golden, name, added } = row;
    expect(added).toMatch(new RegExp(`^${name}: ${golden.modality} \\(.*the canary took`, "m"));
    const ask = ASK[golden.modality];
    const read = EXPECT[golden.modality];
    if (ask === undefined || read === undefined) throw new Error(`no way to ask ${name}`);
    // Together, so that they share batches.
    const answers = golden.cases.map(({ request }) =>
      ask(service.client, { model: name, ...withFiles(name, request) }),
    );
    for (const [at, answer] of (await Promise.all(answers)).entries()) {
      const wanted = await read(withFiles(name, golden.cases[at]?.expected ?? {}) as never);
      expect(answer.exact).toEqual(wanted.exact);
      if (wanted.near.length === 0) continue;
      row.difference = Math.max(row.difference ?? 0, distance(answer.near, wanted.near));
      expect(row.difference).toBeLessThan(golden.tolerance);
    }
  });
});

/** The fields, with the bytes of the row's file in place of `{"file": NAME}`. */
function withFiles(row: string, fields: object): Record<string, unknown> {
  const entries = Object.entries(fields).map(([name, value]: [string, unknown]) => {
    const isFile = typeof value === "object" && value !== null && "file" in value;
    return [name, isFile ? readFileSync(join(FOLDER, row, String(value.file))) : value] as const;
  });
  return Object.fromEntries(entries);
}

function tableOf(all: readonly Row[]): string {
  const lines = all.map(({ golden, added, difference }) => {
    const [, pipeline] = /: \w+ \(([\w-]+)/.exec(added) ?? [];
    const opens = added.includes("the canary took") ? "yes" : "no";
    const numbers = difference === undefined ? "none" : difference.toExponential(1);
    const cells = [golden.model, golden.exporter, pipeline ?? "no", opens, numbers];
    return `| ${[...cells, golden.tolerance].join(" | ")} |`;
  });
  const head = "| model | exporter | recognised | opens | greatest difference | tolerance |";
  return ["", head, "|---|---|---|---|---|---|", ...lines].join("\n");
}

import type { Endpoint, Values } from "./catalogue.js";
import { textOf } from "./form-values.js";

type Call = Pick<Endpoint, "path" | "isJob">;

/** The request as a curl command for a POSIX shell; the key comes from `$FRAMEMILL_KEY`. */
export function toCurl(origin: string, { path }: Call, request: Values): string {
  const isForm = hasFile(request);
  const fields = Object.entries(request).map(([name, value]) =>
    value instanceof File
      ? `-F ${quoted(`${name}=@${value.name}`)}`
      : `--form-string ${quoted(`${name}=${textOf(value)}`)}`,
  );
  const body = isForm
    ? fields
    : [`-H "Content-Type: application/json"`, `-d ${quoted(JSON.stringify(request))}`];
  const lines = [
    `curl -sN ${quoted(origin + path)}`,
    `-H "Authorization: Bearer $FRAMEMILL_KEY"`,
    ...body,
  ];
  return lines.join(" \\\n  ");
}

interface Sdk {
  readonly method: string;
  /** What is done with `answer`. */
  readonly use: string;
}

const PRINT = "console.log(answer);";
const SAVE = `await writeFile("answer.bin", Buffer.from(await answer.arrayBuffer()));`;

/** Methods of the OpenAI client for Node. */
const METHODS: Readonly<Record<string, Sdk>> = {
  "/v1/chat/completions": { method: "chat.completions.create", use: PRINT },
  "/v1/completions": { method: "completions.create", use: PRINT },
  "/v1/responses": { method: "responses.create", use: PRINT },
  "/v1/images/generations": { method: "images.generate", use: PRINT },
  "/v1/images/edits": { method: "images.edit", use: PRINT },
  "/v1/audio/speech": { method: "audio.speech.create", use: SAVE },
  "/v1/audio/transcriptions": { method: "audio.transcriptions.create", use: PRINT },
  "/v1/embeddings": { method: "embeddings.create", use: PRINT },
  "/v1/moderations": { method: "moderations.create", use: PRINT },
};

const FOLLOW_VIDEO = `while (job.status === "queued" || job.status === "in_progress") {
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  job = await client.videos.retrieve(job.id);
}
const content = await client.videos.downloadContent(job.id);
await writeFile("clip.mp4", Buffer.from(await content.arrayBuffer()));`;

/** The request as a program for Node with the stock client; an endpoint it does not know is called by path. */
export function toOpenAi(origin: string, { path, isJob }: Call, request: Values): string {
  const sdk = METHODS[path];
  const use = path === "/v1/videos" ? FOLLOW_VIDEO : usage(sdk, request);
  const imports = [`import OpenAI from "openai";`];
  if (hasFile(request)) imports.unshift(`import { createReadStream } from "node:fs";`);
  if (use.includes("writeFile")) imports.unshift(`import { writeFile } from "node:fs/promises";`);
  const call =
    path === "/v1/videos"
      ? `let job = await client.videos.create(${literal(request)});`
      : `const answer = await client.${
          sdk === undefined
            ? `post("${path.replace("/v1", "")}", { body: ${literal(request)} })`
            : `${sdk.method}(${literal(request)})`
        };`;
  const client = `const client = new OpenAI({
  baseURL: ${JSON.stringify(`${origin}/v1`)},
  apiKey: process.env.FRAMEMILL_KEY,
});`;
  const after =
    isJob && path !== "/v1/videos" ? `${PRINT} // GET ${path}/{id} says how it goes` : use;
  return [imports.join("\n"), "", client, call, after, ""].join("\n");
}

function usage(sdk: Sdk | undefined, request: Values): string {
  if (request["stream"] === true) return "for await (const event of answer) console.log(event);";
  return sdk?.use ?? PRINT;
}

/** An object literal, with files as streams. */
function literal(request: Values): string {
  const lines = Object.entries(request).map(([name, value]) => {
    const text =
      value instanceof File
        ? `createReadStream(${JSON.stringify(value.name)})`
        : JSON.stringify(value, null, 2).replaceAll("\n", "\n  ");
    return `  ${name}: ${text},`;
  });
  return `{\n${lines.join("\n")}\n}`;
}

function hasFile(request: Values): boolean {
  return Object.values(request).some((value) => value instanceof File);
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

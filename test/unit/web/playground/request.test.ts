import { execFileSync } from "node:child_process";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { renderOpenApi } from "#framemill/front/http/openapi.js";
import { listModalities } from "#framemill/modalities/registry.js";
import { type Endpoint, readCatalogue } from "../../../../web/playground/catalogue.js";
import { initialValues, toRequest, toValues } from "../../../../web/playground/form-values.js";
import { examplesOf } from "../../../../web/playground/words.js";
import { toCurl } from "../../../../web/playground/snippets.js";

const models = listModalities().map(({ name, endpoint }) => ({
  id: `model-of-${name}`,
  endpoints: [endpoint.path],
}));
// The document is plain JSON: as the page reads it.
const description = JSON.parse(
  JSON.stringify(renderOpenApi(listModalities(), "/v1")),
) as Parameters<typeof readCatalogue>[0];
const endpoints = readCatalogue(description, models);

function find(path: string): Endpoint {
  const endpoint = endpoints.find((one) => one.path === path);
  if (endpoint === undefined) throw new Error(`no form for ${path}`);
  return endpoint;
}

describe("the playground's forms", () => {
  it("are there for every modality, with an input for each field that must be given", () => {
    expect(endpoints.map(({ path }) => path).toSorted()).toEqual(
      listModalities()
        .map(({ endpoint }) => endpoint.path)
        .toSorted(),
    );
    for (const { fields, path } of endpoints) {
      const { required = [] } =
        description.paths[path.slice(3)]?.post?.requestBody?.content?.["application/json"]
          ?.schema ?? {};
      expect(fields.filter(({ isRequired }) => isRequired).map(({ name }) => name)).toEqual(
        expect.arrayContaining([...required]),
      );
    }
  });

  it("begin with an example, of a length that a person wants to wait for, and stream where they can", () => {
    const request = (path: string) => toRequest(find(path).fields, initialValues(find(path)));
    expect(request("/v1/videos")).toEqual({
      model: "model-of-video",
      prompt: "a red boat sails across the ocean at sunset",
      seconds: 4,
    });
    expect(request("/v1/chat/completions")).toEqual({
      model: "model-of-chat",
      messages: [{ role: "user", content: "Hello! Who are you?" }],
      max_tokens: 128,
      stream: true,
    });
    expect(request("/v1/images/generations")).toMatchObject({ stream: true, partial_images: 2 });
    expect(request("/v1/music")["seconds"]).toBe(10);
    expect(request("/v1/rerank")["documents"]).toContain("a bowl of soup");
    for (const { path, fields } of endpoints) {
      const names = examplesOf(path).flatMap(({ values }) => Object.keys(values));
      expect(fields.map(({ name }) => name)).toEqual(expect.arrayContaining(names));
    }
  });

  it("hold again what a request asked for, but for its seed", () => {
    for (const path of ["/v1/videos", "/v1/rerank", "/v1/audio/speech", "/v1/music"]) {
      const { fields } = find(path);
      const request = toRequest(fields, initialValues(find(path)));
      expect(toRequest(fields, toValues(fields, { ...request, seed: 7 }))).toEqual(request);
    }
  });

  it("send a conversation whole, or the id of the answer before", () => {
    const before = [
      { role: "user", content: "My name is Ada." },
      { role: "assistant", content: "Hello, Ada!" },
    ] as const;
    const { fields, conversation } = find("/v1/chat/completions");
    const { messages } = toRequest(fields, { messages: "What is my name?" }, before);
    expect(messages).toEqual([...before, { role: "user", content: "What is my name?" }]);
    expect([
      conversation,
      find("/v1/responses").conversation,
      find("/v1/videos").conversation,
    ]).toEqual(["messages", "previous_response_id", undefined]);
  });
});

describe("copy as curl", () => {
  /** The arguments that a shell hands to curl. */
  const argumentsOf = (command: string): string[] => {
    const script = `curl() { printf '%s\\0' "$@"; }; ${command}`;
    const env = { ...process.env, FRAMEMILL_KEY: "fm_key" };
    return execFileSync("sh", ["-c", script], { env, encoding: "utf8" }).split("\0").slice(0, -1);
  };

  it("gives a shell exactly what the form says, whatever is typed", () => {
    const text = fc.string({ unit: "binary", minLength: 1 }).filter((one) => !one.includes("\0"));
    fc.assert(
      fc.property(text, (prompt) => {
        const command = toCurl("http://127.0.0.1:1", find("/v1/videos"), { prompt, seconds: 4 });
        const args = argumentsOf(command);
        expect(args).toContain("Authorization: Bearer fm_key");
        expect(JSON.parse(args.at(-1) ?? "")).toEqual({ prompt, seconds: 4 });
      }),
      { numRuns: 25 },
    );
  });

  it("sends a file by its name, and never reads another", () => {
    const image = new File(["x"], "it's a boat.png");
    const args = argumentsOf(
      toCurl("http://127.0.0.1:1", find("/v1/videos"), { prompt: "@/etc/passwd", image }),
    );
    expect(args).toContain("image=@it's a boat.png");
    expect(args[args.indexOf("prompt=@/etc/passwd") - 1]).toBe("--form-string");
  });
});

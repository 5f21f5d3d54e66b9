import * as fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { call, type CallOptions } from "../../support/front-harness.js";
import { type FuzzFront, startFuzzFront } from "./fuzz-front.js";
import { bodyCases, renderBody, type Target, targetsOf } from "./json-bodies.js";
import { edits, mutate } from "./mutate.js";
import { NAUGHTY } from "./naughty.js";
import { campaign } from "./run.js";

const TEN_MINUTES = 600_000;

describe("a front under hostile requests", { timeout: TEN_MINUTES }, () => {
  let service: FuzzFront;
  let targets: readonly Target[];
  const statuses = new Map<number, number>();

  beforeAll(async () => {
    service = await startFuzzFront();
    targets = targetsOf(service.models);
  });
  afterAll(async () => {
    process.stdout.write(`answers by status: ${JSON.stringify(Object.fromEntries(statuses))}\n`);
    await service?.close();
  });

  const targetAt = (index: number): Target => {
    const target = targets[index % targets.length];
    if (target === undefined) throw new Error("no endpoint takes a body");
    return target;
  };
  const send = async (path: string, options: CallOptions) => {
    const { key } = service.harness.account;
    const answer = await call(`${service.front.origin}${path}`, { key, ...options });
    statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
    expect([answer.text, answer.status >= 500]).toEqual([answer.text, false]);
    const isRefused = answer.status >= 400;
    expect(isRefused ? Object.keys(answer.json?.error ?? {}) : []).toEqual(
      isRefused ? ["message", "type", "param", "code"] : [],
    );
  };

  it("answers any JSON to any endpoint with less than 500", async () => {
    await campaign({
      cases: bodyCases,
      count: { short: 150, full: 3_000 },
      check: async (one) => {
        const target = targetAt(one.target);
        await send(target.path, { body: renderBody(target, one) });
      },
    });
    expect(Math.max(...statuses.keys())).toBeLessThan(500);
    expect(service.harness.published.length).toBeGreaterThan(0);
  });

  it("answers any multipart body to any endpoint with less than 500", async () => {
    const naughty = fc.constantFrom(...NAUGHTY);
    const part = fc.record({
      name: fc.oneof(
        naughty,
        fc.constantFrom("file", "image", "a[b]", "a[]", "a[b", "[0]", "model"),
      ),
      value: fc.oneof(naughty, fc.string({ unit: "binary", maxLength: 200 })),
      filename: fc.option(naughty),
    });
    await campaign({
      cases: fc.record({
        target: fc.nat(100),
        parts: fc.array(part, { maxLength: 6 }),
        edits: fc.option(edits),
        repeat: fc.constantFrom(1, 1, 1, 30),
      }),
      count: { short: 60, full: 1_500 },
      check: async ({ target: index, parts, edits: changes, repeat }) => {
        const target = targetAt(index);
        const all = Array.from({ length: repeat }, () => parts).flat();
        const whole = renderForm(target, all);
        await send(target.path, {
          body: changes === null ? whole : mutate(whole, changes),
          headers: { "content-type": "multipart/form-data; boundary=b" },
        });
      },
    });
    expect(Math.max(...statuses.keys())).toBeLessThan(500);
  });

  it("answers any address, method and header with less than 500", async () => {
    const text = fc.oneof(fc.constantFrom(...NAUGHTY), fc.string({ maxLength: 30 }));
    const header = text.map((value) => value.replace(/[^\x20-\x7e\x80-\xff]/g, "").slice(0, 999));
    const route = fc.constantFrom(
      "/v1/videos/{}",
      "/v1/videos/{}/content",
      "/v1/videos/{}/cancel",
      "/v1/videos?after={}",
      "/v1/videos?limit={}",
      "/v1/videos?order={}",
      "/v1/videos/x?wait={}",
      "/v1/music/{}",
      "/v1/responses/{}",
      "/v1/models/{}",
      "/files/{}/{}?expires=9999999999999&signature={}",
      "/{}",
      "/v1/videos?{}={}",
    );
    await campaign({
      cases: fc.record({
        route,
        text,
        encoded: fc.boolean(),
        method: fc.constantFrom("GET", "GET", "POST", "DELETE", "HEAD", "OPTIONS", "PUT", "PATCH"),
        headers: fc.record({
          "idempotency-key": header,
          "x-stainless-retry-count": header,
          traceparent: header,
          range: header,
        }),
      }),
      count: { short: 60, full: 500 },
      check: async ({ route: pattern, text: own, encoded, method, headers }) => {
        const word = encoded ? encodeAny(own) : own.replace(/[^\x21-\x7e]|[#?]/g, "");
        const { origin } = service.front;
        const { key } = service.harness.account;
        const answer = await call(`${origin}${pattern.replaceAll("{}", word)}`, {
          key,
          method,
          headers,
        });
        statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
        expect([answer.text, answer.status >= 500]).toEqual([answer.text, false]);
      },
    });
  });
});

/** Percent-encoded UTF-8; halves of a surrogate pair become U+FFFD. */
function encodeAny(text: string): string {
  return [...Buffer.from(text)].map((byte) => `%${byte.toString(16).padStart(2, "0")}`).join("");
}

interface Part {
  readonly name: string;
  readonly value: string;
  readonly filename: string | null;
}

/** The endpoint's own body as a form, followed by the given parts. */
function renderForm({ body }: Target, parts: readonly Part[]): Buffer {
  const own = Object.entries(body).map(([name, value]) => renderPart(name, value));
  const more = parts.map(({ name, value, filename }) =>
    renderPart(name, filename === null ? value : { filename, bytes: Buffer.from(value) }),
  );
  return Buffer.concat([...own, ...more, Buffer.from("--b--\r\n")]);
}

function renderPart(name: string, value: unknown): Buffer {
  const file = typeof value === "object" && value !== null && "bytes" in value ? value : undefined;
  const filename = file !== undefined && "filename" in file ? file.filename : undefined;
  const named = typeof filename === "string" ? `; filename="${filename}"` : "";
  const head = `--b\r\ncontent-disposition: form-data; name="${name}"${named}\r\n\r\n`;
  const bytes = file?.bytes instanceof Uint8Array ? file.bytes : textOf(value);
  return Buffer.concat([Buffer.from(head), bytes, Buffer.from("\r\n")]);
}

function textOf(value: unknown): Buffer {
  return Buffer.from(typeof value === "string" ? value : JSON.stringify(value));
}

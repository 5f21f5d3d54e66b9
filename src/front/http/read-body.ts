import {
  type AdmitContext,
  type BackgroundUse,
  isPolled,
  type Modality,
  type ModelInfo,
} from "../../core/modality.js";
import { checkBody, hashBody, parseJson } from "./bodies.js";
import { chooseModel } from "./models.js";

/** What a creation request says. */
export interface ReadBody {
  /** What its modality reads. */
  readonly body: unknown;
  /** Names of what was in it and changes nothing. */
  readonly ignored: readonly string[];
  /** `webhook_url` as it came. */
  readonly webhookUrl?: unknown;
  /** `start_deadline` as it came. */
  readonly startDeadline?: unknown;
  /** `service_tier` as it came. */
  readonly serviceTier?: unknown;
  /** Of a replied job that is not waited for. */
  readonly background?: BackgroundUse | undefined;
  /** Of a job that is not waited for, or one with an Idempotency-Key; empty for any other. */
  readonly bodyHash: string;
  /** What its modality made of it, where that was found out already. */
  readonly request?: unknown;
}

interface Reading {
  readonly modality: Modality;
  readonly isHashed: boolean;
}

/** Throws on what no endpoint takes, and takes apart what is not for the modality. */
export function readBody(body: unknown, { modality, isHashed }: Reading): ReadBody {
  checkBody(body);
  const { value: startDeadline, rest: undated } = take(body, "start_deadline");
  const { value: serviceTier, rest: plain } = take(undated, "service_tier");
  const { value: webhookUrl, rest } = isPolled(modality)
    ? take(plain, "webhook_url")
    : { value: undefined, rest: plain };
  const ignored = ignoredIn(rest, modality);
  const background = modality.background?.(rest);
  const isCompared = isPolled(modality) || background !== undefined || isHashed;
  return {
    body: ignored.length === 0 ? rest : without(rest, ignored),
    ignored,
    webhookUrl,
    startDeadline,
    serviceTier,
    background,
    // What is answered at once and has no key is never compared with an earlier request.
    bodyHash: isCompared ? hashBody([modality.name, body]) : "",
  };
}

/** Reads JSON as far as that needs nothing but the bytes and the models. */
export async function readLong(
  pieces: readonly Uint8Array[],
  reading: Reading & {
    readonly path: string;
    readonly models: readonly ModelInfo[];
    readonly maxValues: number | undefined;
  },
): Promise<ReadBody> {
  const { modality, path, models, maxValues } = reading;
  const read = readBody(parseJson(pieces, maxValues), reading);
  const model = chooseModel(read.body, modality, models);
  const context: AdmitContext = { model, path, saveInput: later, findEarlier: later };
  try {
    const request = await modality.admit(read.body, context);
    return { ...read, body: { model: model.id }, request };
  } catch (thrown) {
    if (thrown instanceof NeedsMore) return read;
    throw thrown;
  }
}

/** What reads the body has neither the ledger nor the store. */
class NeedsMore extends Error {}

async function later(): Promise<never> {
  throw new NeedsMore();
}

function ignoredIn(body: unknown, { endpoint: { ignores = [] } }: Modality): readonly string[] {
  return typeof body === "object" && body !== null ? ignores.filter((name) => name in body) : [];
}

function without(body: unknown, names: readonly string[]): unknown {
  return Object.fromEntries(Object.entries(body ?? {}).filter(([name]) => !names.includes(name)));
}

/** A field that is for the service, apart from what the modality reads. */
function take(body: unknown, name: string): { readonly value?: unknown; readonly rest: unknown } {
  if (typeof body !== "object" || body === null || !(name in body)) return { rest: body };
  return { value: Reflect.get(body, name), rest: without(body, [name]) };
}

import { type Artifact, sentFolder } from "../../core/artifact.js";
import { JobError } from "../../core/errors.js";
import { isPolled, type Modality, type ModelInfo } from "../../core/modality.js";
import { findPrices, type PriceTable, tierOf } from "../../core/prices.js";
import { quote } from "../../core/usage.js";
import type { ArtifactStore } from "../../storage/index.js";
import { type Caller, type NewJob, type Outbox, roomOf } from "../ledger/index.js";
import type { ReadBody } from "../http/index.js";

/** What fits a message; a longer request travels as a file. */
const MAX_MESSAGE_REQUEST_BYTES = 64 * 1024;
const POLL_DEADLINE_MS = 24 * 3_600_000;
const LONGEST_URL = 2_048;

export interface Submission extends ReadBody {
  /** Chosen before: a worker may answer sooner than the database. */
  readonly id: string;
  readonly caller: Caller;
  readonly modality: Modality;
  readonly path: string;
  readonly idempotencyKey: string | null;
  /** The client says it has sent this before (`X-Stainless-Retry-Count` above 0). */
  readonly repeated: boolean;
  readonly traceparent: string | null;
  /** The service's own work for the caller: costs nothing and counts no tokens. */
  readonly isFree?: boolean;
}

export interface DraftOptions {
  readonly store: ArtifactStore;
  readonly outbox: Outbox;
  readonly prices: PriceTable;
  /** Longest wait of a replied job, in milliseconds. */
  readonly replyTimeoutMs: number;
  /** Whether webhooks may go to this machine and to private networks. */
  readonly allowPrivateWebhooks: boolean;
}

/** Prices the request, and puts it into a file where it is too long for a message. */
export async function draftJob(
  options: DraftOptions,
  submission: Submission,
  { model, request }: { readonly model: ModelInfo; readonly request: unknown },
): Promise<NewJob> {
  const { store, outbox, prices: table, replyTimeoutMs } = options;
  const { id, modality, caller, isFree = false } = submission;
  const { name } = modality;
  const webhookUrl = chooseWebhook(options, submission);
  const text = JSON.stringify(request);
  const tier = tierOf(modality, request);
  const row = { modality: name, model: model.id, ...(tier !== undefined && { tier }) };
  const prices = isFree ? {} : findPrices(table, row);
  const tooLong = Buffer.byteLength(text) > MAX_MESSAGE_REQUEST_BYTES;
  return {
    id,
    projectId: caller.project.id,
    apiKeyId: caller.apiKeyId,
    modality: name,
    model: model.id,
    request,
    textLength: text.length,
    requestFile: tooLong ? await saveRequest(store, id, text) : null,
    quote: quote(prices, modality.mostUnits(request, model)),
    tier: tier ?? "",
    kept: isPolled(modality) || modality.isStored?.(request) === true,
    reportTo: isPolled(modality) ? null : outbox.reportTo,
    deadlineMs: isPolled(modality) ? POLL_DEADLINE_MS : replyTimeoutMs,
    idempotencyKey: submission.idempotencyKey,
    bodyHash: submission.bodyHash,
    traceparent: submission.traceparent,
    webhookUrl,
    room: roomOf(model.concurrency),
  };
}

function chooseWebhook(
  { allowPrivateWebhooks }: DraftOptions,
  { webhookUrl, caller: { project } }: Submission,
): string | null {
  if (webhookUrl === undefined || webhookUrl === null) return null;
  const url = parseWebhookUrl(webhookUrl, allowPrivateWebhooks);
  if (project.hasWebhookSecret) return url;
  throw new JobError(
    "invalid_value",
    `webhook_url: project ${project.name} has no secret to sign with; its operator makes one`,
    { param: "webhook_url" },
  );
}

function parseWebhookUrl(value: unknown, allowPrivate: boolean): string {
  const refuse = (why: string): never => {
    throw new JobError("invalid_value", `webhook_url ${why}`, { param: "webhook_url" });
  };
  if (typeof value !== "string" || value.length > LONGEST_URL || !URL.canParse(value))
    return refuse(`must be a URL of at most ${LONGEST_URL} characters`);
  const { protocol, username, password } = new URL(value);
  if (protocol !== "https:" && !(allowPrivate && protocol === "http:"))
    return refuse("must begin with https://");
  if (username !== "" || password !== "") return refuse("must not hold a user name or password");
  return value;
}

async function saveRequest(store: ArtifactStore, id: string, text: string): Promise<Artifact> {
  const label = {
    id: `${sentFolder(id)}request.json`,
    variant: "request",
    mediaType: "application/json",
  };
  return await store.putBytes(label, Buffer.from(text));
}

import { once } from "node:events";
import { request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import type { Logger } from "pino";
import { useAgent } from "request-filtering-agent";
import { Webhook } from "standardwebhooks";
import { sql, type Database, type JobNotifications } from "../ledger/index.js";
import { messageOf } from "../../core/errors.js";
import type { JobState } from "../../core/job.js";
import { every, type PeriodicTask } from "../../core/async/every.js";

/**
 * Tells callers that their jobs have ended: signed as https://www.standardwebhooks.com says, so that
 * `client.webhooks.unwrap` of the OpenAI clients verifies it. What is due lies in the ledger.
 */
export interface WebhooksOptions {
  readonly database: Database;
  readonly notifications: Pick<JobNotifications, "follow">;
  /** Whether addresses of this machine and of private networks may be called. */
  readonly allowPrivate: boolean;
  /** `object` of a modality's resource: the first part of an event's type. */
  readonly objectOf: (modality: string) => string;
  readonly log: Logger;
}

/** Pauses before the second and later attempts; after the last one the event is given up. */
const PAUSES_S = [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400] as const;
const INTERVAL_MS = 1_000;
/** Longest interval while no job ends. */
const REST_MS = 10_000;
const TIMEOUT_MS = 10_000;
const MOST_AT_ONCE = 32;
/** Of one project, so that a receiver that hangs keeps nobody else waiting. */
const MOST_OF_ONE = 4;

interface DueEvent {
  readonly id: string;
  readonly project_id: string;
  readonly modality: string;
  readonly state: JobState;
  readonly ended_at_s: number;
  readonly webhook_url: string;
  readonly webhook_secret: string;
  readonly webhook_attempts: number;
}

export function startWebhooks(options: WebhooksOptions): PeriodicTask {
  const { database, log } = options;
  const inFlight = new Map<Promise<void>, string>();
  const repeating = every({
    intervalMs: INTERVAL_MS,
    restMs: REST_MS,
    run: async () => {
      const busy = countBusy(inFlight.values());
      const due = await takeDue(database, MOST_AT_ONCE - inFlight.size, busy);
      for (const event of due) {
        const sending = deliver(event, options).finally(() => {
          inFlight.delete(sending);
          repeating.wake();
        });
        inFlight.set(sending, event.project_id);
      }
      return due.length > 0 ? undefined : "idle";
    },
    onError: (error) => log.warn({ reason: String(error) }, "webhooks not sent, trying again"),
  });
  options.notifications.follow(repeating.stir);
  return {
    ...repeating,
    async stop() {
      await repeating.stop();
      await Promise.all(inFlight.keys());
    },
  };
}

/** Projects that have as many calls under way as they may. */
function countBusy(projects: Iterable<string>): string[] {
  const counts = new Map<string, number>();
  for (const project of projects) counts.set(project, (counts.get(project) ?? 0) + 1);
  return [...counts].filter(([, count]) => count >= MOST_OF_ONE).map(([project]) => project);
}

/** A replica that dies in mid-call leaves the event due two minutes later. */
async function takeDue(db: Database, room: number, busy: readonly string[]): Promise<DueEvent[]> {
  const { rows } = await sql<DueEvent>`
    WITH due AS (
      SELECT id, project_id, webhook_at FROM jobs
      WHERE webhook_at <= now() AND ended_at IS NOT NULL AND NOT project_id = ANY(${busy}::text[])
      ORDER BY webhook_at LIMIT 1000
    ), taken AS (
      UPDATE jobs SET webhook_attempts = webhook_attempts + 1,
        webhook_at = now() + interval '2 minutes'
      WHERE id IN (SELECT id FROM (
        SELECT id, row_number() OVER (PARTITION BY project_id ORDER BY webhook_at) AS place
        FROM due) ranked WHERE place <= ${MOST_OF_ONE}::int LIMIT ${Math.max(0, room)})
        AND webhook_at <= now()
      RETURNING *
    )
    SELECT taken.id, project_id, modality, state, webhook_url, webhook_secret, webhook_attempts,
      extract(epoch FROM ended_at)::int AS ended_at_s
    FROM taken JOIN projects ON projects.id = taken.project_id`.execute(db);
  return rows;
}

async function deliver(event: DueEvent, options: WebhooksOptions): Promise<void> {
  const { database, log } = options;
  const { id: jobId, webhook_attempts: attempt } = event;
  const failure = await call(event, options).then(() => undefined, messageOf);
  const pause = failure === undefined ? undefined : PAUSES_S[attempt - 1];
  if (failure !== undefined)
    log.warn({ jobId, attempt, reason: failure, pauseSeconds: pause ?? null }, "webhook failed");
  else log.info({ jobId, attempt }, "webhook delivered");
  const next = sql`now() + ${pause ?? 0}::int * interval '1 second'`;
  await sql`UPDATE jobs SET webhook_at = ${pause === undefined ? sql`NULL` : next}
    WHERE id = ${jobId}`.execute(database);
}

/** One POST. Rejects unless the receiver answers 2xx in time; what it says beside that is not read. */
async function call(event: DueEvent, { objectOf, allowPrivate }: WebhooksOptions): Promise<void> {
  const { id: jobId, modality, state, ended_at_s: endedAt, webhook_url: address } = event;
  const id = `evt_${jobId.replace(/^.*_/, "")}`;
  const type = `${objectOf(modality)}.${state}`;
  const body = JSON.stringify({
    id,
    object: "event",
    created_at: endedAt,
    type,
    data: { id: jobId },
  });
  const now = new Date();
  const signature = new Webhook(event.webhook_secret).sign(id, now, body);
  const request = address.startsWith("https:") ? requestHttps : requestHttp;
  const allowed = { allowPrivateIPAddress: allowPrivate, allowMetaIPAddress: false };
  const sent = request(address, {
    method: "POST",
    agent: useAgent(address, allowed),
    signal: AbortSignal.timeout(TIMEOUT_MS),
    headers: {
      "content-type": "application/json",
      "content-length": Buffer.byteLength(body),
      "user-agent": "Framemill",
      "webhook-id": id,
      "webhook-timestamp": String(Math.floor(now.getTime() / 1_000)),
      "webhook-signature": signature,
    },
  });
  sent.end(body);
  const [response] = await once(sent, "response");
  const { statusCode = 0 } = response;
  response.destroy();
  if (statusCode < 200 || statusCode > 299) throw new Error(`the receiver answered ${statusCode}`);
}

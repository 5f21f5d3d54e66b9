import { sql } from "#framemill/front/ledger/database/sql.js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { abandonGone, listFronts } from "#framemill/front/ledger/fronts.js";
import { createEmbeddedBroker } from "#framemill/queue/embedded.js";
import {
  call,
  claim,
  REPLY_MODELS,
  SOON,
  startHarness,
  type Harness,
} from "../../support/front-harness.js";
import {
  delta,
  openJob,
  readJob,
  say,
  startScriptedWorker,
  textIn,
  words,
  wordsCompletion,
} from "../../support/front-workers.js";
import { createGate } from "../../support/queue-harness.js";
import { startTcpProxy } from "../../support/tcp-proxy.js";

describe("replied jobs across replicas", () => {
  let harness: Harness;
  const body = { ...say("wait"), model: REPLY_MODELS.unattended };
  const ask = (baseUrl: string) =>
    call(`${baseUrl}/chat/completions`, { key: harness.account.key, body });

  beforeAll(async () => {
    harness = await startHarness();
  });
  afterAll(async () => await harness?.close());

  it("sends reports to the replica that waits, whichever replica publishes the job", async () => {
    const broker = createEmbeddedBroker();
    const seen = new Map<string, string>();
    const key = `chat.${REPLY_MODELS.unattended}`;
    await broker.consume({ routingKeys: [key], prefetch: 100 }, async ({ job }) => {
      seen.set(job.id, job.reportTo);
      return { type: "ack" };
    });
    const replica = await harness.startReplica({ broker });
    const answer = ask(harness.front.baseUrl);
    const id = await openJob(harness);
    await expect
      .poll(async () => {
        await sql`INSERT INTO outbox (job_id) VALUES (${id})
            ON CONFLICT (job_id) DO UPDATE SET locked_until = now()`.execute(harness.database);
        return seen.get(id);
      }, SOON)
      .toBe(`127.0.0.1:${harness.front.grpcPort}`);
    const lease = await claim(replica, id);
    await replica.handlers.complete(wordsCompletion(lease, words("from afar")));
    expect((await answer).json.choices[0].message.content).toBe("from afar");
    await replica.close();
    await broker.close();
  });

  it("delivers all chunks before the end, even if another replica records it", async () => {
    const proxy = await startTcpProxy(0);
    const config = { ...harness.config, grpcAdvertise: `127.0.0.1:${proxy.port}` };
    const waiting = await harness.startReplica({ config });
    proxy.aim(waiting.grpcPort);
    const said = Array.from({ length: 50 }, (_, index) => `word${index} `);
    const begun = createGate();
    const worker = await startScriptedWorker(
      harness,
      async function* () {
        for (const word of said) yield { type: "chunk", chunk: delta(word) };
        // The rest of the answer is made while nothing of it arrives.
        proxy.freeze();
        begun.open();
        yield { type: "chunk", chunk: delta("and the rest") };
        yield { type: "output", output: words(`${said.join("")}and the rest`) };
      },
      ({ id }) => id === REPLY_MODELS.chat,
    );
    const answer = call(`${waiting.baseUrl}/chat/completions`, {
      key: harness.account.key,
      body: say("go", { stream: true }),
    });
    await begun.opened;
    const readLease = async () => {
      const { rows } = await sql<{ state: string; lease: string | null }>`
        SELECT state, lease_until::text AS lease FROM jobs
        WHERE model = ${REPLY_MODELS.chat} ORDER BY seq DESC LIMIT 1`.execute(harness.database);
      return rows[0];
    };
    const before = (await readLease())?.lease;
    // The worker's next heartbeat, which it sends elsewhere: it still waits with the end.
    await expect.poll(async () => (await readLease())?.lease, SOON).not.toBe(before);
    expect((await readLease())?.state).toBe("in_progress");
    proxy.thaw();
    expect(textIn((await answer).text)).toBe(`${said.join("")}and the rest`);
    expect((await readLease())?.state).toBe("completed");
    await worker.stop();
    await waiting.close();
    await proxy.close();
  });

  it("ends jobs whose replica was replaced, and no others", async () => {
    const config = { ...harness.config, grpcAdvertise: "127.0.0.1:9" };
    const old = await harness.startReplica({ config });
    const orphaned = ask(old.baseUrl);
    const orphan = await openJob(harness);
    const replacement = await harness.startReplica({ config });
    expect(await readJob(harness, orphan)).toMatchObject({ state: "failed", code: "cancelled" });
    expect((await orphaned).json.error.code).toBe("cancelled");
    const other = ask(harness.front.baseUrl);
    const id = await openJob(harness);
    await (await harness.startReplica({ config })).close();
    expect((await readJob(harness, id))?.state).toBe("queued");
    await harness.front.handlers.complete(
      wordsCompletion(await claim(harness.front, id), words("here")),
    );
    expect((await other).status).toBe(200);
    await replacement.close();
    await old.close();
  });

  it("ends jobs whose replica was killed, and no others", async () => {
    const db = harness.database;
    const config = { ...harness.config, grpcAdvertise: "127.0.0.1:10" };
    const killed = await harness.startReplica({ config });
    const orphaned = ask(killed.baseUrl);
    const orphan = await openJob(harness);
    expect(await abandonGone(db)).toEqual({ addresses: [], jobs: 0 });
    // It announces itself again within 5 s, as a dead one does not.
    await expect
      .poll(async () => {
        await sql`UPDATE fronts SET seen_at = now() - interval '31 seconds'
          WHERE grpc_address = '127.0.0.1:10'`.execute(db);
        return await abandonGone(db);
      }, SOON)
      .toEqual({ addresses: ["127.0.0.1:10"], jobs: 1 });
    expect(await readJob(harness, orphan)).toMatchObject({ state: "failed", code: "cancelled" });
    expect((await orphaned).json.error.code).toBe("cancelled");
    await killed.close();
  });

  it("ends the remaining jobs of a replica that leaves, and removes it from the list", async () => {
    const db = harness.database;
    const grpcAddress = "127.0.0.1:11";
    const find = async () =>
      (await listFronts(db)).find((front) => front.grpcAddress === grpcAddress);
    const config = { ...harness.config, grpcAdvertise: grpcAddress };
    const leaving = await harness.startReplica({ config });
    const answer = ask(harness.front.baseUrl);
    const id = await openJob(harness);
    await sql`UPDATE jobs SET report_to = ${grpcAddress} WHERE id = ${id}`.execute(db);
    expect(await find()).toMatchObject({ state: "ready", waiting: 1 });
    await leaving.close();
    expect(await find()).toBeUndefined();
    expect(await readJob(harness, id)).toMatchObject({ state: "failed", code: "cancelled" });
    expect((await answer).json.error.code).toBe("cancelled");
  });
});

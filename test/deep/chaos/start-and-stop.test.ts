import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { chmod, mkdir, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { request } from "node:https";
import { createServer, type Server } from "node:net";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import OpenAI from "openai";
import { afterEach, beforeEach, expect, it } from "vitest";
import { createForeignCertificate } from "../../support/certificate.js";
import { environmentOf, type Running, startProcess } from "../../support/service-harness.js";
import { countOf, noteVerdict } from "./verdicts.js";

const MINUTE_MS = 60_000;
const SIGNALLED_STARTS = countOf({ short: 6, full: 100 });
/** Of a start on a busy machine; a signal may come at any moment of it. */
const START_MS = 6_000;
const MODEL = "service-embed-1";
const PORTS = ["PORT", "GRPC_PORT", "WORKER_PORT", "SCALER_PORT"] as const;

let folder: string;
const started: Running[] = [];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "framemill-start-"));
});
afterEach(async () => {
  for (const running of started.splice(0)) await running.stop("SIGKILL");
  await rm(folder, { recursive: true, force: true });
});

/** `framemill up` with a folder of its own; ports that are not given are the default ones where `unset`. */
function startUp(
  settings: Readonly<Record<string, string>> = {},
  { unset = [] as readonly string[], name = "data" } = {},
): Running {
  const env = environmentOf(join(folder, name), { MODELS: MODEL, ...settings });
  for (const setting of unset) delete env[setting];
  const up = startProcess("up", env);
  started.push(up);
  return up;
}

async function exitOf({ child }: Running): Promise<number | string | null> {
  if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  return child.exitCode ?? child.signalCode;
}

/** Processes that this one started and that are still there, by their environment's data folder. */
async function leftBehind(): Promise<number[]> {
  const pids = (await readdir("/proc")).map(Number).filter((pid) => pid > 0);
  const found = await Promise.all(
    pids.map(async (pid) => {
      const environment = await readFile(`/proc/${pid}/environ`, "utf8").catch(() => "");
      return environment.includes(`DATA_DIR=${folder}`) ? [pid] : [];
    }),
  );
  return found.flat();
}

async function takePort(): Promise<{ readonly port: number; readonly server: Server }> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  return { port: typeof address === "object" && address !== null ? address.port : 0, server };
}

it(
  "T37: ends with exit code 1 and the setting's name when a port that was asked for is taken",
  { timeout: 5 * MINUTE_MS },
  async () => {
    const { port, server } = await takePort();
    const wrong: string[] = [];
    for (const setting of PORTS) {
      const up = startUp({ [setting]: String(port) });
      const exit = await exitOf(up);
      const isNamed = new RegExp(`^framemill: ${setting} ${port}: another process`, "m");
      if (exit !== 1 || !isNamed.test(up.output())) wrong.push(`${setting}: ${exit}`);
    }
    server.close();
    const left = await leftBehind();
    await noteVerdict({
      promise: "T37",
      injected: `${PORTS.length} ports taken, one by one`,
      counted: `exit 1 with the setting named ${PORTS.length - wrong.length}, processes left ${left.length}`,
      holds: wrong.length === 0 && left.length === 0,
    });
    expect({ wrong, left }).toEqual({ wrong: [], left: [] });
  },
);

it(
  "T37: starts twice on one machine, the second on free ports that it prints",
  { timeout: 5 * MINUTE_MS },
  async () => {
    const unset = ["PORT", "GRPC_PORT", "WORKER_PORT"];
    const both = ["one", "two"].map((name) => startUp({}, { unset, name }));
    const served: boolean[] = [];
    for (const up of both) served.push(await serves(up));
    const addresses = both.map((up) => /base address +(\S+)/.exec(up.output())?.[1]);
    for (const up of both) up.child.kill("SIGTERM");
    const exits = await Promise.all(both.map(exitOf));
    const left = await leftBehind();
    const holds =
      served.every(Boolean) && new Set(addresses).size === 2 && exits.every((exit) => exit === 0);
    await noteVerdict({
      promise: "T37",
      injected: "2 × up at once, no port set",
      counted: `serving ${served.filter(Boolean).length} under ${addresses.join(", ")}; exits ${exits.join(", ")}, processes left ${left.length}`,
      holds: holds && left.length === 0,
    });
    expect({ served, exits, left }).toEqual({ served: [true, true], exits: [0, 0], left: [] });
    expect(new Set(addresses).size).toBe(2);
  },
);

it(
  "T37: serves over HTTPS, by a certificate that names neither this machine nor an authority it knows",
  { timeout: 5 * MINUTE_MS },
  async () => {
    const { certPath, keyPath, caPath, remove } = await createForeignCertificate();
    const up = startUp({ TLS_CERT_FILE: certPath, TLS_KEY_FILE: keyPath });
    await up.says(/development key/);
    const ca = await readFile(caPath);
    await remove();
    const readiness = await getOverTls(up, "/readyz", ca);
    const embedding = await getOverTls(up, "/v1/embeddings", ca, { model: MODEL, input: "boat" });
    up.child.kill("SIGTERM");
    const exit = await exitOf(up);
    const left = await leftBehind();
    await noteVerdict({
      promise: "T37",
      injected: "up over HTTPS",
      counted: `readiness ${readiness}, embeddings ${embedding}, exit ${exit}, processes left ${left.length}`,
      holds: readiness === 200 && embedding === 200 && exit === 0 && left.length === 0,
    });
    expect({ readiness, embedding, exit, left }).toEqual({
      readiness: 200,
      embedding: 200,
      exit: 0,
      left: [],
    });
  },
);

it(
  "T37: ends with all its parts at a signal in any moment of the start",
  { timeout: 60 * MINUTE_MS },
  async () => {
    const exits = new Map<string, number>();
    let left = 0;
    let locks = 0;
    for (let round = 0; round < SIGNALLED_STARTS; round += 1) {
      const up = startUp();
      await sleep((START_MS * (round + Math.random())) / SIGNALLED_STARTS);
      const signal = round % 2 === 0 ? "SIGTERM" : "SIGINT";
      up.child.kill(signal);
      // Every third gets two signals: it ends at once.
      if (round % 3 === 2) up.child.kill(signal);
      const exit = String(await exitOf(up));
      exits.set(exit, (exits.get(exit) ?? 0) + 1);
      left += (await leftBehind()).length;
      if (existsSync(join(folder, "data", "owner.pid"))) locks += 1;
    }
    // In order, at a second signal, and before any of our code ran.
    const expected = new Set(["0", "130", "143", "SIGTERM", "SIGINT"]);
    const strange = [...exits.keys()].filter((exit) => !expected.has(exit));
    const last = startUp();
    const serving = await serves(last);
    await noteVerdict({
      promise: "T37",
      injected: `${SIGNALLED_STARTS} signals in the first ${START_MS / 1_000} s of up`,
      counted: `exits ${[...exits].map(([exit, count]) => `${exit} × ${count}`).join(", ")}; processes left ${left}, locks left ${locks}, serves afterwards ${serving}`,
      holds: strange.length === 0 && left === 0 && locks === 0 && serving,
    });
    expect({ strange, left, locks, serving }).toEqual({
      strange: [],
      left: 0,
      locks: 0,
      serving: true,
    });
  },
);

// Another user is played by root alone.
it.skipIf(process.getuid?.() !== 0)(
  "T31: keeps its files from the machine's other users, in a folder that was open to all",
  { timeout: 5 * MINUTE_MS },
  async () => {
    const data = join(folder, "data");
    await chmod(folder, 0o755);
    await mkdir(data);
    await chmod(data, 0o777);
    const loose = process.umask(0);
    const up = startUp();
    process.umask(loose);
    const isServing = await serves(up);
    const files = (await find(data, "-type", "f")).length;
    const open = await find(data, "-perm", "/077", "!", "-type", "l");
    const reads = await findAsNobody(data, "-readable");
    const writes = await findAsNobody(data, "-writable");
    up.child.kill("SIGTERM");
    await exitOf(up);
    await noteVerdict({
      promise: "T31",
      injected: `${files} files of a service that began with umask 0 in a folder of mode 0777`,
      counted: `open to others ${open.length}; as another user: read ${reads.length}, written ${writes.length}`,
      holds: isServing && open.length + reads.length + writes.length === 0 && files > 100,
    });
    expect({ isServing, open, reads, writes }).toEqual({
      isServing: true,
      open: [],
      reads: [],
      writes: [],
    });
    expect(files).toBeGreaterThan(100);
  },
);

const AS_NOBODY = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"];

/** What `find` lists: paths. */
async function find(...args: readonly string[]): Promise<string[]> {
  return await listed(["find", ...args]);
}

async function findAsNobody(...args: readonly string[]): Promise<string[]> {
  return await listed([...AS_NOBODY, "find", ...args]);
}

async function listed([program = "", ...args]: readonly string[]): Promise<string[]> {
  const { stdout } = await promisify(execFile)(program, args, { maxBuffer: 2 ** 26 }).catch(
    // It has listed what it could, and complains of the rest.
    (thrown: unknown) => thrown as { readonly stdout: string },
  );
  return stdout.split("\n").filter(Boolean);
}

async function serves(up: Running): Promise<boolean> {
  const [, baseURL = "", apiKey = ""] = await up.says(/address +(\S+)\ndevelopment key +(\S+)\n/);
  const ready = await fetch(new URL("/readyz", baseURL));
  const client = new OpenAI({ baseURL, apiKey });
  const { data } = await client.embeddings.create({ model: MODEL, input: "boat" });
  return ready.status === 200 && data.length === 1;
}

async function getOverTls(
  up: Running,
  path: string,
  ca: Buffer,
  body?: object,
): Promise<number | undefined> {
  const [, baseUrl = "", apiKey = ""] =
    /address +(\S+)\ndevelopment key +(\S+)\n/.exec(up.output()) ?? [];
  const options = {
    ca,
    method: body === undefined ? "GET" : "POST",
    headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
    checkServerIdentity: () => undefined,
  };
  return await new Promise((resolve, reject) => {
    request(new URL(path, baseUrl), options, (response) => {
      response.resume();
      resolve(response.statusCode);
    })
      .on("error", reject)
      .end(body === undefined ? undefined : JSON.stringify(body));
  });
}

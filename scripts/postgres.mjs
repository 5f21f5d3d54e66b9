// A private Postgres cluster in a temporary folder; the system's is never touched.
import { openSync, readdirSync } from "node:fs";
import { chown, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { freePort, waitUntilReady } from "./ports.mjs";
import { capture, mustRun } from "./processes.mjs";
import { Refusal } from "./steps.mjs";
import { findProgram, isProgram } from "./system-packages.mjs";

const READY_WITHIN_MS = 60_000;
const NAME = "framemill";

/** Folder of initdb, postgres and createdb, the newest version first; undefined when not installed. */
export function findPostgres() {
  const debian = versionFolders("/usr/lib/postgresql").map(
    (version) => `/usr/lib/postgresql/${version}/bin`,
  );
  const others = ["/opt/homebrew/opt/postgresql@17/bin", "/usr/local/opt/postgresql@17/bin"];
  const inPath = findProgram("initdb")?.replace(/\/initdb$/, "");
  const programs = ["initdb", "postgres", "createdb"];
  return [...debian, ...others, inPath].find(
    (folder) => folder && programs.every((name) => isProgram(join(folder, name))),
  );
}

function versionFolders(parent) {
  try {
    return readdirSync(parent).toSorted((left, right) => Number(right) - Number(left));
  } catch {
    return [];
  }
}

/** Starts a server and gives its DATABASE_URL once it answers queries. @param {import("./reaper.mjs").Reaper} reaper @param {boolean} [durable] */
export async function startPostgres(reaper, durable = false) {
  const bin = findPostgres();
  const folder = join(reaper.folder, "postgres");
  const data = join(folder, "data");
  await mkdir(folder, { recursive: true });
  const owner = await unprivilegedUser();
  if (owner) await chown(folder, owner.uid, owner.gid);
  const options = { ...owner, cwd: folder, env: { PATH: process.env["PATH"], LANG: "C.UTF-8" } };
  const init = ["-D", data, "-U", NAME, "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync"];
  await mustRun("initdb could not make a database cluster.", join(bin, "initdb"), init, options);
  const port = await freePort();
  const log = openSync(join(reaper.folder, "postgres.log"), "a");
  const args = ["-D", data, ...serverSettings(port, durable)];
  const server = reaper.start(join(bin, "postgres"), args, {
    ...options,
    stdio: ["ignore", log, log],
    endsWith: "QUIT",
  });
  // Making the database succeeds as soon as the server answers queries.
  const create = ["-h", "127.0.0.1", "-p", String(port), "-U", NAME, NAME];
  const isReady = async () => (await capture(join(bin, "createdb"), create, options)).code === 0;
  if (!(await waitUntilReady(server, isReady, READY_WITHIN_MS)))
    throw new Refusal("Postgres did not start.");
  return `postgres://${NAME}@127.0.0.1:${port}/${NAME}`;
}

/** A real server; its durability costs time and is nothing that a test database needs. */
function serverSettings(port, durable) {
  const synced = durable ? "on" : "off";
  const settings = {
    listen_addresses: "127.0.0.1",
    port,
    unix_socket_directories: "",
    max_connections: 200,
    fsync: synced,
    full_page_writes: synced,
  };
  return Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
}

/** initdb refuses root: the user the package made, or nobody. Undefined when this is not root. */
async function unprivilegedUser() {
  if (process.getuid?.() !== 0) return undefined;
  const name = (await capture("id", ["-u", "postgres"])).code === 0 ? "postgres" : "nobody";
  const [uid, gid] = await Promise.all(["-u", "-g"].map((kind) => capture("id", [kind, name])));
  return { uid: Number(uid.output), gid: Number(gid.output) };
}

// A temporary folder and the servers in it, cleared away whatever happens to this process.
import { spawn } from "node:child_process";
import { chmod, mkdtemp } from "node:fs/promises";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const script = fileURLToPath(new URL("reaper.sh", import.meta.url));
/** Servers for tests where only a container engine is there. */
export const composeFile = fileURLToPath(new URL("compose.test.yaml", import.meta.url));

/** Opens a folder and the small process that removes it, with all servers started here, when this one ends. */
export async function openReaper() {
  const folder = await mkdtemp(join(tmpdir(), "framemill-test-"));
  await chmod(folder, 0o711); // a server that runs as another user has a folder of its own inside
  const reaper = spawn("sh", [script, folder, composeFile], {
    stdio: ["pipe", "ignore", "ignore"],
    detached: true,
  });
  const ended = once(reaper, "exit");
  reaper.unref();
  const tell = (line) => reaper.stdin.write(`${line}\n`);
  return {
    folder,
    /**
     * Starts a process in a group of its own.
     * @param {string} command @param {readonly string[]} args
     * @param {Object} options spawn's, and `endsWith`: the signal that ends it at once but in order
     */
    start(command, args, { endsWith = "TERM", ...options }) {
      const child = spawn(command, args, { detached: true, ...options });
      child.once("error", () => {}); // seen as "not ready" by whoever waits for it
      if (child.pid !== undefined) tell(`group ${child.pid} ${endsWith}`);
      return child;
    },
    /** @param {string} project */
    ownComposeProject: (project) => tell(`compose ${project}`),
    /** Ends what still runs and removes the folder. */
    async close() {
      reaper.stdin.end();
      reaper.ref();
      await ended;
    },
  };
}

/** @typedef {Awaited<ReturnType<typeof openReaper>>} Reaper */

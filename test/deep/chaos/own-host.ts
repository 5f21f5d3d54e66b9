import { execFile } from "node:child_process";
import { promisify } from "node:util";

/** A host of its own: a network namespace at the end of a cable that can be pulled. */
export interface OwnHost {
  /** This machine's address at the near end of the cable. */
  readonly nearAddress: string;
  /** Words before a command that is to run there. */
  readonly within: readonly string[];
  pull(): Promise<void>;
  plug(): Promise<void>;
  close(): Promise<void>;
}

const run = promisify(execFile);
const ip = async (...words: readonly string[]) => await run("ip", words);

/** Needs root, and Debian's iproute2; rejects where a namespace cannot be made. */
export async function openOwnHost(): Promise<OwnHost> {
  const number = process.pid % 65_536;
  const name = `framemill-${number}`;
  const [near, far] = [`fmn${number}`, `fmf${number}`];
  // 198.18.0.0/15 is for tests of networks (RFC 2544).
  const network = `198.18.${number >> 8}.`;
  const base = (number & 63) * 4;
  const [nearAddress, farAddress] = [`${network}${base + 1}`, `${network}${base + 2}`];
  await ip("netns", "add", name);
  try {
    await ip("link", "add", near, "type", "veth", "peer", "name", far, "netns", name);
    await ip("addr", "add", `${nearAddress}/30`, "dev", near);
    await ip("link", "set", near, "up");
    await ip("-n", name, "addr", "add", `${farAddress}/30`, "dev", far);
    await ip("-n", name, "link", "set", far, "up");
    await ip("-n", name, "link", "set", "lo", "up");
  } catch (thrown) {
    await ip("netns", "del", name);
    throw thrown;
  }
  return {
    nearAddress,
    within: ["ip", "netns", "exec", name],
    pull: async () => void (await ip("link", "set", near, "down")),
    plug: async () => void (await ip("link", "set", near, "up")),
    close: async () => void (await ip("netns", "del", name)),
  };
}

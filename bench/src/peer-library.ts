import { basename, dirname } from "node:path";
import { z } from "zod";

/** Named at run time: a development dependency that no service loads. */
const PEER = "@huggingface/transformers";

type Call = (...args: unknown[]) => unknown;
const anything = z.custom<Record<string, unknown>>((value) => typeof value === "object");
const callable = z.custom<Call>((value) => typeof value === "function");

/** What calls of transformers.js can be made of its exports, checked where they are used. */
export interface PeerLibrary {
  /** Calls an export, or its `from_pretrained` where it has one, on the folder's files as float32. */
  open(name: string, ...first: readonly unknown[]): Promise<unknown>;
  /** An export as it is. */
  find(name: string): unknown;
}

/**
 * transformers.js with its own settings, bound to one folder of this machine. Throws a sentence where it
 * is not installed.
 */
export async function openPeerLibrary(modelPath: string): Promise<PeerLibrary> {
  const library = anything.parse(await importPeer());
  const env = anything.parse(library["env"]);
  env["allowRemoteModels"] = false;
  env["localModelPath"] = dirname(modelPath);
  const options = { dtype: "fp32" };
  return {
    find: (name) => library[name],
    async open(name, ...first) {
      const member = callable.parse(library[name]);
      const make = "from_pretrained" in member ? callable.parse(member.from_pretrained) : member;
      return await make.call(member, ...first, basename(modelPath), options);
    },
  };
}

async function importPeer(): Promise<unknown> {
  try {
    return await import(PEER);
  } catch (cause) {
    throw new Error(`${PEER} is not installed: run npm ci with the development dependencies`, {
      cause,
    });
  }
}

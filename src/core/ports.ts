import { messageOf, systemCodeOf } from "./errors.js";

/** A port that a setting names. */
export interface ListenAddress {
  readonly host: string;
  /** 0 = any free one. */
  readonly port: number;
  /** Name of the setting, for whoever must change it. */
  readonly setting: string;
  /** Nobody asked for this port: a free one will do where it is taken. */
  readonly orFree?: boolean | undefined;
}

/** Listens; where that fails rejects with a sentence that names the setting and its value. */
export async function listenAt<T>(
  address: ListenAddress,
  listen: (port: number) => Promise<T>,
): Promise<T> {
  try {
    return await listen(address.port);
  } catch (thrown) {
    const code = /\bE[A-Z]{5,}\b/.exec(`${systemCodeOf(thrown)} ${String(thrown)}`)?.[0] ?? "";
    if (code === "EADDRINUSE" && address.orFree) return await listen(0);
    throw new Error(refusal(address, code, thrown), { cause: thrown });
  }
}

function refusal({ host, port, setting }: ListenAddress, code: string, thrown: unknown): string {
  if (code === "EADDRINUSE")
    return `${setting} ${port}: another process listens on ${host}:${port} already. Stop it, or set ${setting} to a free port, or to 0 for any`;
  if (code === "EACCES")
    return `${setting} ${port}: this user may not listen on ${host}:${port}. Set ${setting} to 1024 or above`;
  if (code === "EADDRNOTAVAIL" || code === "ENOTFOUND")
    return `HOST ${host} is no address of this machine: set HOST to one, or to 0.0.0.0 for all`;
  return `${setting} ${port}: cannot listen on ${host}:${port}: ${messageOf(thrown)}`;
}

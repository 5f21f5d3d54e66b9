import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** What goes wrong with one request for a file. */
export type Fault = "wrong-bytes" | "no-ranges" | "busy" | "missing" | "silent";

/** A model hub of one repository, `acme/tiny`, whose revision `main` is the commit of its contents. */
export async function startHub(files: ReadonlyMap<string, Buffer>, token?: string) {
  const commit = createHash("sha1")
    .update([...files.keys()].join())
    .digest("hex");
  const faults = new Map<string, Fault[]>();
  const ranges: string[] = [];
  const server = createServer((request, response) => {
    if (token !== undefined && request.headers.authorization !== `Bearer ${token}`)
      return answer(response, 401);
    const { pathname } = new URL(request.url ?? "/", "http://hub");
    if (pathname === "/api/models/acme/tiny/revision/main") return list(response, files, commit);
    const path = pathname.slice(`/acme/tiny/resolve/${commit}/`.length);
    const content = files.get(path);
    if (content === undefined) return answer(response, 404);
    if (request.headers.range) ranges.push(`${path} ${request.headers.range}`);
    const fault = faults.get(path)?.shift();
    if (fault !== undefined) return misbehave(fault, { request, response, content });
    return send(request, response, content);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  // Node types the address of a pipe too; this server listens on a port.
  const { port } = server.address() as AddressInfo;
  return {
    baseUrl: `http://127.0.0.1:${port}`,
    commit,
    /** By path, what goes wrong with the next requests for it, in order. */
    faults,
    /** Ranges that were asked for. */
    ranges,
    /** Breaks all connections off. */
    hangUp: () => server.closeAllConnections(),
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

function list(response: ServerResponse, files: ReadonlyMap<string, Buffer>, sha: string): void {
  const siblings = [...files].map(([path, content]) => sibling(path, content));
  response.setHeader("content-type", "application/json");
  response.end(JSON.stringify({ sha, tags: [], siblings }));
}

/** As the hub describes a file: graphs lie in large-file storage, the rest in git. */
function sibling(rfilename: string, content: Buffer): object {
  const size = content.byteLength;
  if (!rfilename.includes(".onnx"))
    return { rfilename, size, blobId: sha1(`blob ${size}\0`, content) };
  return { rfilename, size, blobId: sha1("pointer"), lfs: { sha256: sha256(content), size } };
}

function send(request: IncomingMessage, response: ServerResponse, content: Buffer): void {
  const start = Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? "")?.[1] ?? 0);
  if (start > 0) {
    response.statusCode = start < content.byteLength ? 206 : 416;
    const last = content.byteLength - 1;
    response.setHeader("content-range", `bytes ${start}-${last}/${content.byteLength}`);
  }
  response.setHeader("content-length", content.byteLength - start);
  response.end(content.subarray(start));
}

function misbehave(fault: Fault, { request, response, content }: Misbehaviour): void {
  if (fault === "busy") return answer(response, 503);
  if (fault === "missing") return answer(response, 404);
  if (fault === "wrong-bytes") return send(request, response, Buffer.alloc(content.byteLength, 7));
  response.setHeader("content-length", content.byteLength);
  if (fault === "no-ranges") return void response.end(content);
  response.write(content.subarray(0, Math.floor(content.byteLength / 2)));
}

interface Misbehaviour {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly content: Buffer;
}

function answer(response: ServerResponse, status: number): void {
  response.statusCode = status;
  response.end();
}

function sha1(...parts: readonly (string | Buffer)[]): string {
  const hash = createHash("sha1");
  for (const part of parts) hash.update(part);
  return hash.digest("hex");
}

function sha256(content: Buffer): string {
  return createHash("sha256").update(content).digest("hex");
}

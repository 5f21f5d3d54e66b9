// The TypeScript types of the .proto files, into src/rpc/gen: made before whatever compiles or checks src.
// Needs nothing but the npm packages, so that the images' builds can call it.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const folder = join(root, "src", "rpc", "gen");
const stamp = join(folder, ".generated");

/** The options of src/rpc/proto.ts, as the generator spells them. */
const OPTIONS = [
  "--longs=String",
  "--enums=String",
  "--defaults",
  "--arrays",
  "--grpcLib=@grpc/grpc-js",
  "--importFileExtension=.js",
];

/** Makes the types, unless neither the .proto files nor this script changed since. */
export function generateRpcTypes() {
  const files = readdirSync(join(root, "proto"), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".proto"))
    .toSorted();
  const wanted = fingerprint([
    fileURLToPath(import.meta.url),
    ...files.map((name) => join(root, "proto", name)),
  ]);
  if (readStamp() === wanted) return;
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const generator = join(
    root,
    "node_modules/@grpc/proto-loader/build/bin/proto-loader-gen-types.js",
  );
  execFileSync(process.execPath, [generator, ...OPTIONS, "-I", "proto", "-O", folder, ...files], {
    cwd: root,
  });
  writeFileSync(stamp, wanted);
}

function readStamp() {
  try {
    return readFileSync(stamp, "utf8");
  } catch {
    return undefined;
  }
}

function fingerprint(files) {
  const hash = createHash("sha256");
  for (const file of files) hash.update(readFileSync(file));
  return hash.digest("hex");
}

if (process.argv[1] === fileURLToPath(import.meta.url)) generateRpcTypes();

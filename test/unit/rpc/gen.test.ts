import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, expect, test } from "vitest";
import { PROTO_FILES } from "#framemill/rpc/proto.js";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const fresh = mkdtempSync(join(tmpdir(), "framemill-gen-"));
afterAll(() => rmSync(fresh, { recursive: true, force: true }));

/** The options of src/rpc/proto.ts, as the generator spells them. */
const OPTIONS = [
  "--longs=String",
  "--enums=String",
  "--defaults",
  "--arrays",
  "--grpcLib=@grpc/grpc-js",
  "--importFileExtension=.js",
];

function readAll(folder: string): Record<string, string> {
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" });
  const files = names.filter((name) => name.endsWith(".ts")).toSorted();
  return Object.fromEntries(files.map((name) => [name, readFileSync(join(folder, name), "utf8")]));
}

test("src/rpc/gen is what the .proto files generate", () => {
  const generator = join(root, "node_modules/.bin/proto-loader-gen-types");
  execFileSync(generator, [...OPTIONS, "-I", "proto", "-O", fresh, ...PROTO_FILES], { cwd: root });
  const generated = readAll(fresh);
  expect(Object.keys(generated).length).toBeGreaterThan(20);
  expect(readAll(join(root, "src/rpc/gen"))).toEqual(generated);
});

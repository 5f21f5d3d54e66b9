// ONNX Runtime's library into dist/node_modules, where Node looks before the packages of a checkout. Packages and
// images are installed without onnxruntime-node: it brings the libraries of all platforms, some of them twice,
// and its install script fetches CUDA's. For this machine alone: node scripts/carry-runtime.mjs
import { cpSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));

/** What a package runs on. */
export const PLATFORMS = ["linux-x64", "linux-arm64", "darwin-arm64"];

/** Copies the manifest and, of each platform, what src/runtime/ort/api.ts loads. @param {readonly string[]} platforms */
export function carryRuntime(platforms) {
  const from = join(root, "node_modules", "onnxruntime-node");
  const target = join(root, "dist", "node_modules");
  const draft = join(root, "dist", ".node_modules");
  const to = join(draft, "onnxruntime-node");
  rmSync(draft, { recursive: true, force: true });
  mkdirSync(to, { recursive: true });
  cpSync(join(from, "package.json"), join(to, "package.json"));
  const isLoaded = (path) => !/\.(node|1\.dylib)$/.test(path);
  for (const name of platforms) {
    const folder = join("bin", "napi-v6", ...name.split("-"));
    cpSync(join(from, folder), join(to, folder), { recursive: true, filter: isLoaded });
  }
  // A process that starts meanwhile finds all of it or nothing.
  rmSync(target, { recursive: true, force: true });
  renameSync(draft, target);
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  carryRuntime([`${process.platform}-${process.arch}`]);

// What the compiler leaves out: the pages of the front, web/ → dist/web, and the ledger's statements.
import { cp, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = fileURLToPath(new URL("..", import.meta.url));
const outdir = join(root, "dist", "web");

const statements = "front/ledger/sql";
await rm(join(root, "dist", statements), { recursive: true, force: true });
await cp(join(root, "src", statements), join(root, "dist", statements), { recursive: true });

await rm(outdir, { recursive: true, force: true });
await build({
  absWorkingDir: root,
  entryPoints: [
    { in: "web/playground/main.tsx", out: "playground" },
    { in: "web/operations/main.tsx", out: "operations" },
    "web/playground.html",
    "web/operations.html",
    "web/style.css",
  ],
  outbase: "web",
  outdir,
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2022",
  jsx: "automatic",
  jsxImportSource: "preact",
  loader: { ".html": "copy" },
  logLevel: "warning",
});

// What the compiler leaves out: the pages of the front, web/ → dist/web, the ledger's statements, a new
// cluster of its embedded database, and ONNX Runtime.
import { existsSync } from "node:fs";
import { cp, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { carryRuntime, PLATFORMS } from "./carry-runtime.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const outdir = join(root, "dist", "web");

const statements = "front/ledger/sql";
await rm(join(root, "dist", statements), { recursive: true, force: true });
await cp(join(root, "src", statements), join(root, "dist", statements), { recursive: true });

await makeCluster(join(root, "dist", "front", "ledger", "database"));

carryRuntime(PLATFORMS);

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

/** To make one takes seconds and hundreds of megabytes: services unpack it. @param {string} folder */
async function makeCluster(folder) {
  const manifest = join(root, "node_modules", "@electric-sql", "pglite", "package.json");
  const { version } = JSON.parse(await readFile(manifest, "utf8"));
  const file = join(folder, "cluster.tgz");
  const stamp = join(folder, "cluster.version");
  const madeBy = await readFile(stamp, "utf8").catch(() => undefined);
  if (madeBy === version && existsSync(file)) return;
  const { PGlite } = await import("@electric-sql/pglite");
  const database = await PGlite.create();
  const cluster = await database.dumpDataDir("gzip");
  await database.close();
  await writeFile(file, cluster.stream());
  await writeFile(stamp, version);
}

// bench/src → bench/dist, a file for each file; `npm run check` looks at their types.
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const folder = fileURLToPath(new URL(".", import.meta.url));

/** Bundles nothing, and imports from the product's dist what the sources import from its src. */
const fileByFile = {
  name: "file-by-file",
  setup({ onResolve }) {
    onResolve({ filter: /./ }, ({ kind, path }) =>
      kind === "entry-point"
        ? undefined
        : { path: path.replace(/^((\.\.\/)+)src\//, "$1dist/"), external: true },
    );
  },
};

await rm(join(folder, "dist"), { recursive: true, force: true });
await build({
  absWorkingDir: folder,
  entryPoints: ["src/**/*.ts"],
  outdir: "dist",
  outbase: "src",
  bundle: true,
  plugins: [fileByFile],
  platform: "node",
  format: "esm",
  target: "node20",
  sourcemap: true,
  logLevel: "warning",
});

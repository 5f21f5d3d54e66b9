// The dependency rule: .dependency-cruiser.cjs, and what a rule file cannot say.
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { root } from "./packages.mjs";
import { capture } from "./processes.mjs";
import { Refusal } from "./steps.mjs";

/** Libraries the front must never load, not even through others. */
const HEAVY = /(^|node_modules\/)(koffi|onnxruntime-node)(\/|$)/;

/**
 * Checks src in a folder that holds the rule file, tsconfig.json and node_modules.
 * @param {string} folder @returns {Promise<{ modules: number, violations: string[] }>}
 */
async function checkLayers(folder) {
  const cruiser = join(root, "node_modules", "dependency-cruiser", "bin", "dependency-cruise.mjs");
  const args = [cruiser, "src", "--output-type", "json"];
  const { output } = await capture(process.execPath, args, { cwd: folder });
  if (!output.startsWith("{")) throw new Refusal(`dependency-cruiser did not run:\n${output}`);
  const { modules, summary } = JSON.parse(output);
  const violations = summary.violations.map(
    ({ rule, from, to }) => `${rule.name}: ${from} → ${to}`,
  );
  const written = countSources(join(folder, "src"));
  const cruised = modules.filter(({ source }) => /^src\/.*\.ts$/.test(source)).length;
  // A cruiser that cannot read TypeScript sees nothing and is content.
  if (cruised === 0 || cruised < written)
    violations.push(`nothing-left-out: ${cruised} of ${written} source files were read`);
  return { modules: cruised, violations: [...violations, ...heavyImports(modules)] };
}

function countSources(folder) {
  return readdirSync(folder, { recursive: true }).filter((name) => /(?<!\.d)\.ts$/.test(name))
    .length;
}

/** Chains of ordinary imports that lead from the front to a heavy library. */
function heavyImports(modules) {
  const loads = new Map(
    modules.map(({ source, dependencies }) => [source, dependencies.filter(isLoaded)]),
  );
  const cameFrom = new Map([...loads.keys()].filter(isFront).map((source) => [source, undefined]));
  const found = [];
  for (const source of cameFrom.keys())
    for (const { resolved } of loads.get(source) ?? []) {
      if (cameFrom.has(resolved)) continue;
      cameFrom.set(resolved, source);
      if (HEAVY.test(resolved)) found.push(`front-stays-light: ${chain(resolved, cameFrom)}`);
    }
  return found;
}

function isFront(source) {
  return source.startsWith("src/front/");
}

/** An import that loads its target as soon as the file itself is loaded. */
function isLoaded({ dynamic, dependencyTypes }) {
  return !dynamic && !dependencyTypes.includes("type-only");
}

function chain(last, cameFrom) {
  const steps = [];
  for (let step = last; step !== undefined; step = cameFrom.get(step)) steps.unshift(step);
  return steps.join(" → ");
}

/** `node scripts/layers.mjs [FOLDER]` */
async function main(folder = root) {
  const { modules, violations } = await checkLayers(folder);
  process.stdout.write(`${[...violations, `${modules} modules read`].join("\n")}\n`);
  process.exitCode = violations.length > 0 ? 1 : 0;
}

await main(process.argv[2]);

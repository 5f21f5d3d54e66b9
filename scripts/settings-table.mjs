// Writes the table of environment variables from src/config.ts into docs/getting-started.md;
// with --check it only says whether the table is up to date.
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import ts from "typescript";
import { root } from "./packages.mjs";

const PAGE = "docs/getting-started.md";
const BEGIN = "<!-- settings: npm run check:fix -->";
const END = "<!-- /settings -->";

/** Defaults that are computed, in words. */
const COMPUTED = {
  "tmpdir(": "`framemill` in the system's temporary folder",
  "availableParallelism(": "all cores",
  "hostname(": "host name and process id",
  "import.meta.url": "`models` of this repository",
};

/** Name, default and meaning of every field of the schema, in its order. @param {string} text */
function readSettings(text) {
  const source = ts.createSourceFile("config.ts", text, ts.ScriptTarget.Latest, true);
  const schema = source.statements
    .filter(ts.isVariableStatement)
    .map((statement) => statement.declarationList.declarations[0])
    .find((declaration) => declaration.name.getText() === "settings");
  return schema.initializer.arguments[0].properties.map((property) => ({
    name: environmentName(property.name.getText()),
    fallback: fallbackOf(property.initializer.getText()),
    meaning: meaningOf(property),
  }));
}

function environmentName(field) {
  return field.replace(/[A-Z]/g, (upper) => `_${upper}`).toUpperCase();
}

function fallbackOf(type) {
  const value = /\.default\((.*)\)$/s.exec(type)?.[1];
  if (value === undefined) return "unset";
  const computed = Object.keys(COMPUTED).find((sign) => value.includes(sign));
  return computed ? COMPUTED[computed] : `\`${value.replaceAll(/["_]/g, "")}\``;
}

function meaningOf(property) {
  const [comment] = ts.getJSDocCommentsAndTags(property);
  return (
    ts.getTextOfJSDocComment(comment?.comment)?.replaceAll(/\s+/g, " ").replaceAll("|", "\\|") ?? ""
  );
}

function table(settings) {
  const rows = settings.map(
    ({ name, fallback, meaning }) => `| \`${name}\` | ${fallback} | ${meaning} |`,
  );
  return ["| variable | default | meaning |", "| --- | --- | --- |", ...rows].join("\n");
}

const page = await readFile(join(root, PAGE), "utf8");
const settings = readSettings(await readFile(join(root, "src", "config.ts"), "utf8"));
const before = page.slice(0, page.indexOf(BEGIN));
const after = page.slice(page.indexOf(END));
const wanted = `${before}${BEGIN}\n${table(settings)}\n${after}`;
if (wanted === page) process.stdout.write(`${settings.length} settings are documented\n`);
else if (process.argv.includes("--check")) {
  process.stdout.write(`${PAGE} is behind src/config.ts: npm run check:fix\n`);
  process.exitCode = 1;
} else {
  await writeFile(join(root, PAGE), wanted);
  process.stdout.write(`${PAGE}: ${settings.length} settings written\n`);
}

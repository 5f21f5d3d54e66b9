// Writes docs/api-reference.md from what the service says of itself at /openapi.json, and the tables of
// docs/worker-contract.md from the modalities' schemas; with --check it only says whether both are up to
// date. Every field of a request must also stand in docs/api.md.
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { z } from "zod";
import { build, readText, root } from "./packages.mjs";
import { fieldsOf } from "./schema-fields.mjs";

const PAGE = "docs/api-reference.md";
const GUIDE = "docs/api.md";
const CONTRACT = "docs/worker-contract.md";
const BEGIN = "<!-- outputs and pieces: npm run check:fix -->";
const END = "<!-- /outputs and pieces -->";
const HEAD = `<!-- Written by npm run check:fix from src/front/http/openapi.ts: change it there. -->
# API reference

Every endpoint with every field, as a running service says it of itself at \`/openapi.json\`. What the fields mean, with examples, is in [api.md](api.md). Paths are below the service's address; bodies are JSON or, with the same fields, \`multipart/form-data\`, where numbers are strings of digits. What an answer requires is always there. A failure of any endpoint has the body and one of the codes of [Errors](api.md#errors).`;

/** The modalities, and their service as it describes itself. */
async function readBuild() {
  await build();
  const compiled = (path) => import(pathToFileURL(join(root, "dist", path)).href);
  const [{ renderOpenApi }, { listModalities }] = await Promise.all([
    compiled("front/http/openapi.js"),
    compiled("modalities/registry.js"),
  ]);
  const modalities = listModalities();
  return { modalities, service: renderOpenApi(modalities, "/v1") };
}

/** Method, full path and operation of every endpoint. */
function operationsOf({ paths }) {
  return Object.entries(paths).flatMap(([path, { parameters = [], ...methods }]) =>
    Object.entries(methods).map(([method, operation]) => ({
      method: method.toUpperCase(),
      path: path.startsWith("/v2/") ? path : `/v1${path}`,
      operation: { ...operation, parameters: [...parameters, ...(operation.parameters ?? [])] },
    })),
  );
}

function section(service, { method, path, operation }) {
  const { summary, parameters, requestBody, responses } = operation;
  const body = requestBody?.content["application/json"];
  return [
    `## ${method} ${path}`,
    `${summary}.`,
    ...parametersOf(parameters),
    ...(body ? ["Request:", table(fieldsOf(body.schema, service))] : []),
    answerOf(responses["200"].content),
  ].join("\n\n");
}

function parametersOf(parameters) {
  if (parameters.length === 0) return [];
  const asField = ({ name, in: place, required = false, schema }) => ({
    ...fieldsOf({ properties: { [name]: schema } })[0],
    required,
    meaning: place,
  });
  return ["Parameters:", table(parameters.map(asField))];
}

/** Its fields stand once, below Objects. */
function answerOf(content) {
  const types = Object.keys(content).map((mediaType) => `\`${mediaType}\``);
  const name = content["application/json"]?.schema.$ref?.split("/").at(-1);
  return `Answer: ${[...types, ...(name ? [`[${name}](#${name})`] : [])].join(", ")}.`;
}

function table(fields) {
  if (fields.length === 0) return "none";
  const rows = fields.map(({ path, required, type, meaning }) =>
    [`\`${path}\``, required ? "yes" : "", type, meaning].join(" | "),
  );
  const lines = ["field | required | type | ", "--- | --- | --- | ---", ...rows];
  return lines.map((line) => `| ${line} |`).join("\n");
}

function objects(service) {
  return Object.entries(service.components.schemas).map(
    ([name, schema]) => `### ${name}\n\n${table(fieldsOf(schema, service))}`,
  );
}

/** Fields that a request may have and the guide does not name. */
function unexplained(operations, guide) {
  return operations.flatMap(({ method, path, operation }) => {
    const properties = operation.requestBody?.content["application/json"].schema.properties ?? {};
    const unnamed = Object.keys(properties).filter((name) => !guide.includes(`\`${name}`));
    return unnamed.map((name) => `${GUIDE} does not name \`${name}\` of ${method} ${path}`);
  });
}

/** What a worker sends, a table for each schema; modalities of one schema share it. */
function crossing(modalities) {
  const tables = new Map();
  for (const { name, schemas } of modalities)
    for (const part of ["output", "delta"]) {
      if (schemas[part] === undefined) continue;
      const fields = table(
        fieldsOf(z.toJSONSchema(schemas[part], { io: "input", unrepresentable: "any" })),
      );
      const sharing = tables.get(`${part}\n${fields}`) ?? { part, fields, names: [] };
      tables.set(`${part}\n${fields}`, { ...sharing, names: [...sharing.names, name] });
    }
  return [...tables.values()].map(({ part, fields, names }) => {
    const title = part === "output" ? "Output" : "Piece of the answer";
    return `### ${title}: ${names.join(", ")}\n\n${fields}`;
  });
}

/** Writes what differs, or with --check says so. */
async function save(page, wanted, source) {
  const isSame = (await readText(join(root, page))) === wanted;
  if (isSame) return process.stdout.write(`${page} is up to date\n`);
  if (!process.argv.includes("--check")) {
    await writeFile(join(root, page), wanted);
    return process.stdout.write(`${page} written\n`);
  }
  process.exitCode = 1;
  return process.stdout.write(`${page} is behind ${source}: npm run check:fix\n`);
}

const { modalities, service } = await readBuild();
const operations = operationsOf(service);
const sections = operations.map((one) => section(service, one));
const missing = unexplained(operations, await readFile(join(root, GUIDE), "utf8"));
for (const sentence of missing) process.stdout.write(`${sentence}\n`);
if (missing.length > 0) process.exitCode = 1;

const reference = [HEAD, ...sections, "## Objects", ...objects(service)].join("\n\n");
await save(PAGE, `${reference}\n`, "src/front/http/openapi.ts");

const contract = await readFile(join(root, CONTRACT), "utf8");
const before = contract.slice(0, contract.indexOf(BEGIN) + BEGIN.length);
const after = contract.slice(contract.indexOf(END));
const tables = crossing(modalities).join("\n\n");
await save(CONTRACT, `${before}\n\n${tables}\n\n${after}`, "the schemas of src/modalities");

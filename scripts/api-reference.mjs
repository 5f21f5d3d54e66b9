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

Every endpoint with every field, as a running service says it of itself at \`/openapi.json\`. What the fields mean, with examples, is in [api.md](api.md). Paths are below the service's address; bodies are JSON or, where files are sent, \`multipart/form-data\`, and a field that may be left out may be null. What an answer requires is always there. A failure of any endpoint is an [ErrorBody](#errorbody) with one of the codes of [Errors](api.md#errors). Every answer has the headers of [Headers](#headers) that are required.`;

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
  return Object.entries(paths).flatMap(([path, { parameters = [], servers: _own, ...methods }]) =>
    Object.entries(methods).map(([method, operation]) => ({
      method: method.toUpperCase(),
      path: path.startsWith("/v2/") ? path : `/v1${path}`,
      operation: { ...operation, parameters: [...parameters, ...(operation.parameters ?? [])] },
    })),
  );
}

function section(service, { method, path, operation }) {
  const { summary, parameters, requestBody, responses } = operation;
  return [
    `## ${method} ${path}`,
    `${summary}.`,
    ...parametersOf(parameters),
    ...requestOf(service, requestBody),
    answerOf(responses),
  ].join("\n\n");
}

/** The fields of a body, of whichever type it is. */
function requestOf(service, requestBody) {
  if (requestBody === undefined) return [];
  const types = Object.keys(requestBody.content).map((mediaType) => `\`${mediaType}\``);
  const anyOf = Object.values(requestBody.content).map(({ schema }) => schema);
  return [`Request, ${types.join(" or ")}:`, table(fieldsOf({ anyOf }, service))];
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
function answerOf(responses) {
  const types = Object.entries(responses["200"].content).map(([mediaType, { schema }]) => {
    const name = nameOf(schema);
    return `\`${mediaType}\`${name ? ` ([${name}](#${name.toLowerCase()}))` : ""}`;
  });
  const failures = Object.keys(responses).filter((status) => status >= 400);
  return `Answer: ${types.join(", ")}. Failures: ${failures.join(", ")}.`;
}

/** Of the component that a schema refers to. */
function nameOf({ $ref }) {
  return $ref?.split("/").at(-1);
}

function table(fields) {
  if (fields.length === 0) return "none";
  const rows = fields.map(({ path, required, type, meaning }) =>
    [`\`${path}\``, required ? "yes" : "", type, meaning].join(" | "),
  );
  const lines = ["field | required | type | ", "--- | --- | --- | ---", ...rows];
  return lines.map((line) => `| ${line} |`).join("\n");
}

/** What answers are; with the objects inside of them. */
function objects(service, operations) {
  const answers = [
    ...operations.flatMap(({ operation }) => Object.values(operation.responses)),
    ...Object.values(service.components.responses),
  ].flatMap(({ content = {} }) => Object.values(content).map(({ schema }) => nameOf(schema)));
  const names = [...new Set(answers)].filter(Boolean).toSorted(byName);
  return names.map(
    (name) => `### ${name}\n\n${table(fieldsOf(service.components.schemas[name], service))}`,
  );
}

function byName(one, other) {
  return one.localeCompare(other);
}

function headersOf({ components }) {
  const rows = Object.entries(components.headers).map(([name, header]) => {
    const [{ path, type }] = fieldsOf({ properties: { [name]: header.schema } });
    return { path, type, required: header.required, meaning: header.description ?? "" };
  });
  return table(rows);
}

/** Fields that a request may have and the guide does not name. */
function unexplained(service, operations, guide) {
  return operations.flatMap(({ method, path, operation }) => {
    const bodies = Object.values(operation.requestBody?.content ?? {});
    const names = bodies.flatMap(({ schema }) =>
      Object.keys(service.components.schemas[nameOf(schema)].properties),
    );
    const unnamed = [...new Set(names)].filter((name) => !guide.includes(`\`${name}`));
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
const missing = unexplained(service, operations, await readFile(join(root, GUIDE), "utf8"));
for (const sentence of missing) process.stdout.write(`${sentence}\n`);
if (missing.length > 0) process.exitCode = 1;

const reference = [
  HEAD,
  ...sections,
  "## Objects",
  ...objects(service, operations),
  "## Headers",
  headersOf(service),
].join("\n\n");
await save(PAGE, `${reference}\n`, "src/front/http/openapi.ts");

const contract = await readFile(join(root, CONTRACT), "utf8");
const before = contract.slice(0, contract.indexOf(BEGIN) + BEGIN.length);
const after = contract.slice(contract.indexOf(END));
const tables = crossing(modalities).join("\n\n");
await save(CONTRACT, `${before}\n\n${tables}\n\n${after}`, "the schemas of src/modalities");

// Writes docs/api-reference.md from what the service says of itself at /openapi.json; with --check it
// only says whether the page is up to date. Every field of a request must also stand in docs/api.md.
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { build, readText, root } from "./packages.mjs";
import { fieldsOf } from "./schema-fields.mjs";

const PAGE = "docs/api-reference.md";
const GUIDE = "docs/api.md";
const HEAD = `<!-- Written by npm run check:fix from src/front/http/openapi.ts: change it there. -->
# API reference

Every endpoint with every field, as a running service says it of itself at \`/openapi.json\`. What the fields mean, with examples, is in [api.md](api.md). Paths are below the service's address; bodies are JSON or, with the same fields, \`multipart/form-data\`, where numbers are strings of digits. What an answer requires is always there. A failure of any endpoint has the body and one of the codes of [Errors](api.md#errors).`;

async function describeService() {
  await build();
  const compiled = (path) => import(pathToFileURL(join(root, "dist", path)).href);
  const [{ renderOpenApi }, modalities] = await Promise.all([
    compiled("front/http/openapi.js"),
    compiled("modalities/index.js"),
  ]);
  return renderOpenApi(Object.values(modalities), "/v1");
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

const service = await describeService();
const operations = operationsOf(service);
const sections = operations.map((one) => section(service, one));
const wanted = `${[HEAD, ...sections, "## Objects", ...objects(service)].join("\n\n")}\n`;
const missing = unexplained(operations, await readFile(join(root, GUIDE), "utf8"));
for (const sentence of missing) process.stdout.write(`${sentence}\n`);
if (missing.length > 0) process.exitCode = 1;

if ((await readText(join(root, PAGE))) === wanted)
  process.stdout.write(`${operations.length} endpoints are documented\n`);
else if (process.argv.includes("--check")) {
  process.stdout.write(`${PAGE} is behind src/front/http/openapi.ts: npm run check:fix\n`);
  process.exitCode = 1;
} else {
  await writeFile(join(root, PAGE), wanted);
  process.stdout.write(`${PAGE}: ${operations.length} endpoints written\n`);
}

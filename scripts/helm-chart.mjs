// deploy/helm/framemill: a chart with a profile for each overlay of deploy/kubernetes, made of what kustomize renders,
// so that nothing is written twice. helm-chart.mjs writes it, `npm run check -- deploy` compares it.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { isDeepStrictEqual } from "node:util";
import { parseAllDocuments, stringify } from "yaml";
import { findDeployTools } from "./deploy-tools.mjs";
import { root } from "./packages.mjs";
import { capture } from "./processes.mjs";

const folder = join(root, "deploy", "helm", "framemill");
const NAMESPACE = "framemill";
export const OVERLAYS = ["cpu", "example", "pools"];
const MADE = "# Made by scripts/helm-chart.mjs of deploy/kubernetes: change it there.\n";

/** Differences between the chart that is there, the one that would be made, and what Helm renders. */
export async function checkChart({ kubectl, helm }) {
  const files = await makeChart(kubectl);
  const stale = [...files].filter(([name, text]) => readOrNothing(name) !== text);
  if (stale.length > 0)
    return stale.map(
      ([name]) => `${name} is not what deploy/kubernetes makes: npm run check:fix -- deploy`,
    );
  const problems =
    helm === undefined ? [] : await Promise.all(OVERLAYS.map((one) => compare(one, kubectl, helm)));
  return problems.flat();
}

/** Writes the chart. @param {string} kubectl */
async function writeChart(kubectl) {
  const files = await makeChart(kubectl);
  for (const name of ["templates", "values"])
    rmSync(join(folder, name), { recursive: true, force: true });
  for (const [name, text] of files) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
}

function readOrNothing(name) {
  try {
    return readFileSync(join(folder, name), "utf8");
  } catch {
    return undefined;
  }
}

/** Files of the chart by their names. */
async function makeChart(kubectl) {
  const files = new Map();
  const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const about = "Front and workers of Framemill; RabbitMQ, Postgres and S3 are elsewhere.";
  const chart = { apiVersion: "v2", name: "framemill", description: about, type: "application" };
  files.set("Chart.yaml", MADE + stringify({ ...chart, version, appVersion: version }));
  for (const overlay of OVERLAYS) {
    const objects = await render(kubectl, overlay);
    const values = valuesOf(overlay, objects);
    const made = MADE + stringify(values);
    files.set(overlay === "cpu" ? "values.yaml" : `values/${overlay}.yaml`, made);
    const texts = objects.map((object) => templateOf(object)).join("---\n");
    files.set(
      `templates/${overlay}.yaml`,
      `{{- if eq .Values.profile "${overlay}" }}\n${texts}{{- end }}\n`,
    );
  }
  return files;
}

/** The objects of an overlay. */
async function render(kubectl, overlay) {
  const path = join(root, "deploy", "kubernetes", "overlays", overlay);
  const { code, output } = await capture(kubectl, ["kustomize", path]);
  if (code !== 0) throw new Error(output);
  return readObjects(output);
}

const readObjects = (text) =>
  parseAllDocuments(text)
    .map((document) => document.toJS())
    .filter(Boolean);

/** What an overlay says of that which a chart leaves open. */
function valuesOf(profile, objects) {
  const containers = objects.flatMap(({ spec }) => spec?.template?.spec.containers ?? []);
  const settings = objects.find(({ kind }) => kind === "ConfigMap").data;
  const secret = objects.find(({ kind }) => kind === "Secret")?.stringData ?? {};
  const of = (name) => {
    const { image, resources } = containers.find((one) => one.name === name);
    return { image, resources };
  };
  const front = objects.find(
    ({ kind, metadata }) => kind === "Deployment" && metadata.name === "framemill-front",
  );
  return {
    profile,
    createNamespace: objects.some(({ kind }) => kind === "Namespace"),
    settings,
    secret,
    front: { replicas: front.spec.replicas, ...of("front") },
    worker: of("worker"),
  };
}

/** One object as a template; what values decide is a mark first, since YAML would quote the braces. */
function templateOf(object) {
  const { kind } = object;
  const open = structuredClone(object);
  if (open.metadata.namespace === NAMESPACE) open.metadata.namespace = "@@namespace@@";
  if (kind === "Namespace") open.metadata.name = "@@namespace@@";
  if (kind === "ConfigMap") open.data = "@@settings@@";
  if (kind === "Secret") open.stringData = "@@secret@@";
  for (const container of Object.values(open.spec?.template?.spec ?? {}).flat())
    openContainer(container);
  if (kind === "Deployment" && open.metadata.name === "framemill-front")
    open.spec.replicas = "@@front.replicas@@";
  const text = stringify(open, { lineWidth: 0 })
    .replaceAll(`.${NAMESPACE}.svc`, ".{{ .Release.Namespace }}.svc")
    .replace(/"?@@(.+?)@@"?/g, (_, mark) => MARKS[mark] ?? `{{ .Values.${mark} }}`)
    .replaceAll(/^( *)(\S+:) \{\{ toYaml (\S+) \}\}$/gm, (_, indent, key, value) => {
      const depth = indent.length + 2;
      return `${indent}${key} {{- toYaml ${value} | nindent ${depth} }}`;
    });
  const condition = { Namespace: ".Values.createNamespace", Secret: ".Values.secret" }[kind];
  return condition === undefined ? text : `{{- if ${condition} }}\n${text}{{- end }}\n`;
}

const MARKS = {
  namespace: "{{ .Release.Namespace }}",
  settings: "{{ toYaml .Values.settings }}",
  secret: "{{ toYaml .Values.secret }}",
  "front.resources": "{{ toYaml .Values.front.resources }}",
  "worker.resources": "{{ toYaml .Values.worker.resources }}",
};

/** Images by their process, resources of the process itself. */
function openContainer(container) {
  if (container?.image === undefined) return;
  const { name } = container;
  container.image = name === "worker" ? "@@worker.image@@" : "@@front.image@@";
  if (name === "worker" || name === "front") container.resources = `@@${name}.resources@@`;
}

/** What Helm renders of a profile against what kustomize does of its overlay, object by object. */
async function compare(overlay, kubectl, helm) {
  const values = overlay === "cpu" ? [] : ["--values", join(folder, "values", `${overlay}.yaml`)];
  const words = ["template", "framemill", folder, "--namespace", NAMESPACE, ...values];
  const { code, output } = await capture(helm, words);
  if (code !== 0) return [`${overlay}: ${output.trim()}`];
  const name = ({ kind, metadata }) => `${kind} ${metadata.name}`;
  const index = (objects) => new Map(objects.map((object) => [name(object), object]));
  const [ours, theirs] = [index(readObjects(output)), index(await render(kubectl, overlay))];
  return [...new Set([...ours.keys(), ...theirs.keys()])]
    .filter((key) => !isDeepStrictEqual(ours.get(key), theirs.get(key)))
    .map((key) => `${overlay}: ${key} is not the same by Helm and by kustomize`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { kubectl } = await findDeployTools();
  if (kubectl !== undefined) await writeChart(kubectl);
}

// deploy/kubernetes against the schemas of Kubernetes, KEDA, cert-manager and the Prometheus operator.
import { createRequire } from "node:module";
import { join } from "node:path";
import ts from "typescript";
import { parseAllDocuments } from "yaml";
import { root } from "./packages.mjs";

const require = createRequire(import.meta.url);

/** Packages that are made of the projects' own schemas. */
const PACKAGES = {
  "keda.sh": "@kubernetes-models/keda/",
  "cert-manager.io": "@kubernetes-models/cert-manager/",
  "monitoring.coreos.com": "@kubernetes-models/prometheus-operator/",
};

/** Seconds between the end of draining and the kill. */
const GRACE_SECONDS = 5;
/** What a front gives answers under way, as docs/operations.md says. */
const FRONT_SECONDS = 20;

/** What is wrong with the objects of one overlay. @param {string} text @returns {string[]} */
export function checkManifests(text) {
  const objects = parseAllDocuments(text).map((document) => document.toJS());
  if (objects.length === 0) return ["no object was rendered"];
  return [...objects.flatMap(checkValues), ...checkFields(objects), ...checkTogether(objects)];
}

const nameOf = ({ kind, metadata }) => `${kind} ${metadata?.name}`;

function moduleOf({ apiVersion, kind }) {
  return `${PACKAGES[apiVersion.split("/")[0]] ?? "kubernetes-models/"}${apiVersion}/${kind}`;
}

/** Types, formats and required fields, by the compiled JSON schema. */
function checkValues(object) {
  try {
    const { [object.kind]: Model } = require(moduleOf(object));
    new Model(object).validate();
    return [];
  } catch (error) {
    return [`${nameOf(object)}: ${error.message}`];
  }
}

/**
 * Fields that the schemas do not know: JSON schema lets them pass and the API server drops them, but in
 * the schemas' types a literal may have no others.
 */
function checkFields(objects) {
  const file = join(root, "scripts", "rendered-manifests.ts");
  const lines = objects.map((object, index) => {
    const type = `import("${moduleOf(object)}").I${object.kind}`;
    return `export const object${index}: ${type} = ${JSON.stringify(object)};`;
  });
  const options = {
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    types: [],
    module: ts.ModuleKind.ESNext,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
    target: ts.ScriptTarget.ES2022,
  };
  const host = ts.createCompilerHost(options);
  const isOurs = (name) => name === file;
  const onDisk = ts.createCompilerHost(options);
  host.fileExists = (name) => isOurs(name) || onDisk.fileExists(name);
  host.getSourceFile = (name, ...rest) =>
    isOurs(name)
      ? ts.createSourceFile(name, lines.join("\n"), ts.ScriptTarget.ES2022)
      : onDisk.getSourceFile(name, ...rest);
  const program = ts.createProgram([file], options, host);
  return ts.getPreEmitDiagnostics(program).map(({ messageText, start, file: source }) => {
    const line = source?.getLineAndCharacterOfPosition(start ?? 0).line;
    const object = line === undefined ? "schemas" : nameOf(objects[line]);
    return `${object}: ${ts.flattenDiagnosticMessageText(messageText, " ")}`;
  });
}

/** What no schema knows. */
function checkTogether(objects) {
  const deployments = objects.filter(({ kind }) => kind === "Deployment");
  const accounts = objects.filter(({ kind }) => kind === "ServiceAccount");
  return [
    ...deployments.flatMap(checkGrace),
    ...deployments.flatMap(checkLocked),
    ...deployments.flatMap((deployment) => checkSelectors(deployment, objects)),
    ...accounts
      .filter(({ automountServiceAccountToken: mounted }) => mounted !== false)
      .map((account) => `${nameOf(account)} mounts its token`),
  ];
}

/** Termination grace must be as long as leaving takes. */
function checkGrace(deployment) {
  const { terminationGracePeriodSeconds: grace = 30, containers } = deployment.spec.template.spec;
  const [{ env = [], lifecycle }] = containers;
  const drainMs = env.find(({ name }) => name === "DRAIN_MS")?.value;
  const stopping = drainMs === undefined ? FRONT_SECONDS : Number(drainMs) / 1_000;
  const before = Number(lifecycle?.preStop?.exec?.command?.[1] ?? 0);
  const least = before + stopping + GRACE_SECONDS;
  if (grace >= least) return [];
  return [`${nameOf(deployment)}: termination grace must be at least ${least} s, is ${grace} s`];
}

/** As the restricted Pod Security Standard wants, and a file system that cannot be written. */
function checkLocked(deployment) {
  const { securityContext, containers, automountServiceAccountToken } =
    deployment.spec.template.spec;
  const rules = {
    "runs as root": securityContext?.runAsNonRoot === true,
    "has no seccomp profile": securityContext?.seccompProfile?.type === "RuntimeDefault",
    "mounts a token": automountServiceAccountToken === false,
    "may gain rights": containers.every(
      ({ securityContext: own }) =>
        own?.allowPrivilegeEscalation === false && own.capabilities?.drop?.includes("ALL"),
    ),
    "can write its root": containers.every(
      ({ securityContext: own }) => own?.readOnlyRootFilesystem === true,
    ),
    "lacks a probe": containers.every(
      (one) => one.startupProbe && one.livenessProbe && one.readinessProbe,
    ),
  };
  const broken = Object.keys(rules).filter((rule) => !rules[rule]);
  return broken.map((rule) => `${nameOf(deployment)} ${rule}`);
}

/** A deployment's pods are those that its budget, its policy and its service mean. */
function checkSelectors(deployment, objects) {
  const labels = deployment.spec.template.metadata.labels;
  const matches = (wanted = {}) =>
    Object.entries(wanted).length > 0 &&
    Object.entries(wanted).every(([key, value]) => labels[key] === value);
  const selecting = {
    PodDisruptionBudget: ({ spec }) => matches(spec.selector.matchLabels),
    NetworkPolicy: ({ spec }) => matches(spec.podSelector.matchLabels),
  };
  return Object.entries(selecting)
    .filter(([kind, selects]) => !objects.some((one) => one.kind === kind && selects(one)))
    .map(([kind]) => `${nameOf(deployment)} is selected by no ${kind}`);
}

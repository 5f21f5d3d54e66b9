// deploy/ and the Dockerfiles, as far as can be told without running them: `npm run check -- deploy`.
import { readdirSync, readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parse } from "yaml";
import { checkManifests } from "./deploy-kubernetes.mjs";
import { findDeployTools } from "./deploy-tools.mjs";
import { checkChart } from "./helm-chart.mjs";
import { root } from "./packages.mjs";
import { capture } from "./processes.mjs";

const deploy = join(root, "deploy");
const tools = await findDeployTools();

/** Names of checks, what they need, and the problems they find. */
const CHECKS = [
  { name: "images", needs: "hadolint", find: checkImages },
  { name: "compose", find: checkCompose },
  { name: "kubernetes", needs: "kubectl", find: checkKubernetes },
  { name: "chart", needs: "kubectl", find: () => checkChart(tools) },
  { name: "prometheus", needs: "promtool", find: checkPrometheus },
  { name: "dashboard", needs: "promtool", find: checkDashboard },
  { name: "runbook", find: checkRunbook },
];

/** The output of a program that failed, as one problem. */
async function problemsOf(program, args, options = {}) {
  const { code, output } = await capture(program, args, { cwd: root, ...options });
  return code === 0 ? [] : [output.trim()];
}

async function checkImages() {
  const files = readdirSync(root).filter((name) => name.startsWith("Dockerfile."));
  return await problemsOf(tools.hadolint, ["--no-color", ...files]);
}

/** The compose specification's schema, and a linter's rules. */
async function checkCompose() {
  const cli = join(root, "node_modules", "dclint", "bin", "dclint.cjs");
  const config = join(deploy, ".dclintrc.json");
  const args = [cli, "--max-warnings", "0", "--config", config, join(deploy, "compose.yaml")];
  return [...(await problemsOf(process.execPath, args)), ...checkComposeSettings()];
}

/** Every variable that compose.yaml wants is in the example, and the other way round. */
function checkComposeSettings() {
  const compose = readFileSync(join(deploy, "compose.yaml"), "utf8");
  const example = readFileSync(join(deploy, "compose.env.example"), "utf8");
  const reads = compose.matchAll(/\$\{(\w+)|environment: (\w+)$/gm);
  const wanted = new Set([...reads].map(([, name, secret]) => name ?? secret));
  const given = new Set([...example.matchAll(/^(\w+)=/gm)].map(([, name]) => name));
  return [
    ...[...wanted].filter((name) => !given.has(name)).map((name) => `the example lacks ${name}`),
    ...[...given].filter((name) => !wanted.has(name)).map((name) => `nothing reads ${name}`),
  ];
}

async function checkKubernetes() {
  const overlays = readdirSync(join(deploy, "kubernetes", "overlays"));
  const problems = await Promise.all(
    overlays.map(async (name) => {
      const path = join(deploy, "kubernetes", "overlays", name);
      const { code, output } = await capture(tools.kubectl, ["kustomize", path]);
      const found = code === 0 ? checkManifests(output) : [output.trim()];
      return found.map((problem) => `${name}: ${problem}`);
    }),
  );
  return problems.flat();
}

async function checkPrometheus() {
  const folder = join(deploy, "prometheus");
  const checks = [
    ["check", "config", join(folder, "prometheus.yaml")],
    ["check", "rules", join(folder, "alerts.yaml")],
    ["test", "rules", join(folder, "alerts.test.yaml")],
  ];
  const problems = await Promise.all(checks.map((args) => problemsOf(tools.promtool, args)));
  const tested = readFileSync(join(folder, "alerts.test.yaml"), "utf8");
  const untested = readAlerts()
    .filter(({ alert }) => !tested.includes(`alertname="${alert}"`))
    .map(({ alert }) => `${alert} has no test`);
  return [...problems.flat(), ...untested];
}

function readAlerts() {
  const { groups } = parse(readFileSync(join(deploy, "prometheus", "alerts.yaml"), "utf8"));
  return groups.flatMap(({ rules }) => rules);
}

/** Every query of the dashboard, as a rule that promtool reads. */
async function checkDashboard() {
  const { panels } = JSON.parse(readFileSync(join(deploy, "grafana", "framemill.json"), "utf8"));
  const queries = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
  const rules = queries.map((expr, index) => ({
    record: `query_${index}`,
    expr: expr.replaceAll("$__rate_interval", "1m").replaceAll("$model", ".*"),
  }));
  const folder = await mkdtemp(join(tmpdir(), "framemill-dashboard-"));
  try {
    const file = join(folder, "queries.json");
    await writeFile(file, JSON.stringify({ groups: [{ name: "dashboard", rules }] }));
    return await problemsOf(tools.promtool, ["check", "rules", file]);
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Each alert links to a section of its own, and each section is about an alert that there is. */
function checkRunbook() {
  const runbook = readFileSync(join(root, "docs", "operations", "runbook.md"), "utf8");
  const sections = [...runbook.matchAll(/^## (Framemill\w+)$/gm)].map(([, name]) => name);
  const alerts = readAlerts();
  const link = (name) => `docs/operations/runbook.md#${name.toLowerCase()}`;
  return [
    ...alerts
      .filter(({ alert }) => !sections.includes(alert))
      .map(({ alert }) => `runbook.md has no section ${alert}`),
    ...alerts
      .filter(({ alert, annotations }) => annotations.runbook_url !== link(alert))
      .map(({ alert }) => `${alert} does not link to ${link(alert)}`),
    ...sections
      .filter((name) => !alerts.some(({ alert }) => alert === name))
      .map((name) => `runbook.md is about ${name}, which is no alert`),
  ];
}

let failed = false;
for (const { name, needs, find } of CHECKS) {
  const missing = needs !== undefined && tools[needs] === undefined;
  const skipped = missing && !process.env["CI"];
  const problems = missing ? [`needs ${needs}`] : await find();
  failed ||= problems.length > 0 && !skipped;
  const verdict = skipped ? `SKIPPED, needs ${needs}` : problems.length > 0 ? "FAILED" : "good";
  process.stdout.write(`${name}: ${verdict}\n`);
  if (!skipped) for (const problem of problems) process.stdout.write(`  ${problem}\n`);
}
if (tools.helm === undefined)
  process.stdout.write("chart: not rendered, there is no Helm and no Go\n");
process.exitCode = failed ? 1 : 0;

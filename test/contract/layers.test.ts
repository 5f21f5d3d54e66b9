import { spawnSync } from "node:child_process";
import { createRequire } from "node:module";
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));

const rules: { forbidden: { name: string }[] } = createRequire(import.meta.url)(
  join(root, ".dependency-cruiser.cjs"),
);

/** An import of a file within each room that has a door. */
const PAST_DOORS = rules.forbidden.flatMap(({ name }, index) => {
  const room = name.match(/^door-of-(.*)$/)?.[1];
  if (room === undefined) return [];
  return [[name, `bin/planted-${index}.ts`, `../${room}/planted-inside.js`] as const];
});

/** One wrong import a rule: [rule, file, what it imports]. */
const PLANTED = [
  ...PAST_DOORS,
  ["down-only-from-core", "core/planted.ts", "../front/planted.js"],
  ["down-only-from-runtime", "media/planted-up.ts", "../modalities/planted/request.js"],
  ["down-only-from-models", "models/planted-up.ts", "../modalities/planted/request.js"],
  ["down-only-from-modalities", "modalities/planted/up.ts", "../../worker/planted.js"],
  ["down-only-from-front", "worker/planted-up.ts", "../bin/planted.js"],
  ["strangers-in-runtime-row", "queue/planted.ts", "../rpc/planted.js"],
  ["strangers-in-front-row", "front/planted.ts", "../worker/planted.js"],
  ["down-only-in-front", "front/ledger/planted-up.ts", "../jobs/index.js"],
  ["down-only-in-runtime", "runtime/ort/planted-up.ts", "../packages/model-package.js"],
  ["down-only-in-models", "models/diffusion/planted-up.ts", "../flux/architecture.js"],
  ["strangers-in-runtime", "runtime/batching/planted.ts", "../process/protocol.js"],
  ["strangers-in-models", "models/whisper/planted.ts", "../ctc/open.js"],
  ["door-of-front/ledger", "front/jobs/planted-past.ts", "../ledger/jobs.js"],
  [
    "door-of-models/whisper",
    "modalities/transcription/planted.ts",
    "../../models/whisper/model.js",
  ],
  ["door-of-queue", "front/jobs/planted-queue.ts", "../../queue/topology.js"],
  ["modalities-are-strangers", "modalities/planted/sibling.ts", "../other/request.js"],
  ["pipelines-load-lazily", "modalities/planted/request.ts", "./pipeline.js"],
  ["config-is-passed-down", "storage/planted-config.ts", "../config.js"],
  ["core-is-pure", "core/planted-pure.ts", "node:fs"],
  ["no-cycle", "rpc/planted-cycle.ts", "./planted-cycle-back.js"],
  ["no-unresolvable", "worker/planted-missing.ts", "./planted-nowhere.js"],
  ["only-in-runtime/ort", "worker/planted-engine.ts", "koffi"],
  ["only-in-queue", "worker/planted-broker.ts", "amqplib"],
  ["only-in-rpc", "worker/planted-grpc.ts", "@grpc/grpc-js"],
  ["only-in-media", "modalities/planted/image.ts", "sharp"],
  ["only-in-front", "worker/planted-http.ts", "fastify"],
  ["only-in-storage", "worker/planted-s3.ts", "@aws-sdk/client-s3"],
  ["only-in-tracing", "worker/planted-spans.ts", "@opentelemetry/api"],
  ["no-undeclared-packages", "worker/planted-dev.ts", "vitest"],
  ["front-stays-light", "front/planted-heavy.ts", "../modalities/planted/engine.js"],
] as const;

/** What the wrong imports lead to, innocent in itself. */
const SUPPORT = {
  "rpc/planted.ts": "export {};",
  "worker/planted.ts": "export {};",
  "bin/planted.ts": "export {};",
  "modalities/other/request.ts": "export {};",
  "modalities/planted/pipeline.ts": "export {};",
  "rpc/planted-cycle-back.ts": 'import "./planted-cycle.js";',
  "modalities/planted/engine.ts": 'import "../../runtime/planted-session.js";',
  "runtime/planted-session.ts": 'import "koffi";',
};

describe("the dependency rule", () => {
  let folder: string;
  let before: string;

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "framemill-layers-"));
    for (const name of ["src", ".dependency-cruiser.cjs", "tsconfig.json", "package.json"])
      cpSync(join(root, name), join(folder, name), { recursive: true });
    symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
    before = checkLayers(folder).output;
    for (const [file, text] of Object.entries(SUPPORT)) write(folder, file, text);
    for (const [, , target] of PAST_DOORS)
      write(folder, target.slice("../".length).replace(/js$/, "ts"), "export {};");
    for (const [, file, target] of PLANTED) write(folder, file, `import "${target}";`);
  });

  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it("holds for the code as it is", () => {
    expect(before).toMatch(/^\d+ modules read\n$/);
  });

  it("plants a violation of each rule of rooms", () => {
    const planted = new Set<string>(PLANTED.map(([rule]) => rule));
    const ofRooms = rules.forbidden.filter(({ name }) => /^(door|down|strangers)-/.test(name));
    expect(ofRooms.length).toBeGreaterThan(30);
    expect(ofRooms.filter(({ name }) => !planted.has(name))).toEqual([]);
  });

  it("notices every planted violation", () => {
    const { output, code } = checkLayers(folder);
    const unnoticed = PLANTED.filter(
      ([rule, file]) =>
        !output.split("\n").some((line) => line.startsWith(`${rule}: src/`) && line.includes(file)),
    );
    expect(unnoticed).toEqual([]);
    expect(code).toBe(1);
  });

  it("fails when it has read nothing", () => {
    const blind = 'module.exports = { forbidden: [], options: { exclude: "." } };';
    writeFileSync(join(folder, ".dependency-cruiser.cjs"), blind);
    const { output, code } = checkLayers(folder);
    expect(output).toMatch(/^nothing-left-out: 0 of \d+ source files were read\n/);
    expect(code).toBe(1);
  });
});

function checkLayers(folder: string): { readonly output: string; readonly code: number | null } {
  const script = join(root, "scripts", "layers.mjs");
  const { stdout, stderr, status } = spawnSync(process.execPath, [script, folder], {
    encoding: "utf8",
  });
  return { output: stdout + stderr, code: status };
}

function write(folder: string, file: string, text: string): void {
  const path = join(folder, "src", file);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, `${text}\n`);
}

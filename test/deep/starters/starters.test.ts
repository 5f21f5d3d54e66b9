import { spawnSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { isAtLeast, readEvaluationCard } from "#framemill/bench/evaluation/evaluation-card.js";
import { evaluatePackage } from "#framemill/bench/evaluation/evaluate-package.js";
import { runnerParts } from "#framemill/bin/package-runner.js";
import { loadConfig } from "#framemill/config.js";
import { listModelPackages, type ModelPackage } from "#framemill/runtime/packages/model-package.js";
import { copyWithNoise } from "../../support/noisy-package.js";

/** Cases of each set: a model is right in one of few, noise now and then by chance. */
const LIMITS = { own: 3, noise: 6 };

const hasPocketsphinx =
  spawnSync("pocketsphinx_batch", ["-version"], { stdio: "ignore" }).error === undefined;
if (!hasPocketsphinx) process.stderr.write("skipped: pocketsphinx is not installed\n");

const modelsDir = fileURLToPath(new URL("../../../models", import.meta.url));
const packages = await listModelPackages(modelsDir);
const cards = await Promise.all(packages.map(({ path }) => readEvaluationCard(path)));
const starters = packages.filter(
  ({ modality }, index) => cards[index] !== undefined && (hasPocketsphinx || modality !== "speech"),
);

/** Measured beside what noise must not reach, for the measures that state it. */
async function measure(model: ModelPackage, limit: number) {
  const config = loadConfig({ threads: 2 });
  const card = await readEvaluationCard(model.path);
  const { signal } = new AbortController();
  const parts = runnerParts(config);
  const measures = await evaluatePackage(model, { parts, config, limit, signal });
  const stated = Object.entries(card?.metrics ?? {});
  return stated.flatMap(([name, { noise, better }]) =>
    noise === undefined ? [] : [{ name, noise, better, measured: measures[name] ?? Number.NaN }],
  );
}

test("every package of the repository states its numbers", () => {
  const silent = packages.filter((_, index) => cards[index] === undefined);
  expect(silent.map(({ id }) => id)).toEqual([]);
});

describe.each(starters)("$id", (model) => {
  test(
    "answers by its weights: in random order they give noise",
    { timeout: 600_000 },
    async () => {
      const folder = await mkdtemp(join(tmpdir(), "framemill-noise-"));
      try {
        const own = await measure(model, LIMITS.own);
        const noisy = await measure(
          await copyWithNoise(model, join(folder, model.id)),
          LIMITS.noise,
        );
        expect(own).not.toEqual([]);
        for (const [index, { name, measured, noise, better }] of own.entries()) {
          const shuffled = noisy[index]?.measured ?? Number.NaN;
          expect.soft(isAtLeast(measured, noise, better), `${name}: ${measured}`).toBe(true);
          expect
            .soft(isAtLeast(shuffled, noise, better), `${name} of noise: ${shuffled}`)
            .toBe(false);
        }
      } finally {
        await rm(folder, { recursive: true, force: true });
      }
    },
  );
});

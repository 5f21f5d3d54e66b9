import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { loadModelPackage } from "#framemill/runtime/packages/model-package.js";
import { writeModelPackage } from "../../../support/model-manifest.js";

const root = mkdtempSync(join(tmpdir(), "model-package-"));
afterAll(() => rmSync(root, { recursive: true }));

/** A package that asks for these options of CUDA. */
function write(cuda: Readonly<Record<string, string>>): string {
  const execution = { providers: ["cuda"], concurrency: 1, providerOptions: { cuda } };
  writeModelPackage(root, { id: "toy", modality: "toy", execution }, {});
  return root;
}

test("what the operator asks of a provider stands over what the package asks", async () => {
  const folder = write({ cudnn_conv_algo_search: "EXHAUSTIVE", prefer_nhwc: "1" });
  const cuda = { cudnn_conv_algo_search: "DEFAULT", device_id: "1" };
  const { execution } = await loadModelPackage(folder, { providerOptions: { cuda } });
  expect(execution.providerOptions).toEqual({ cuda: { ...cuda, prefer_nhwc: "1" } });
});

test("a package asks for no file, library, device or memory", async () => {
  const folder = write({ trt_engine_cache_path: "/etc" });
  await expect(loadModelPackage(folder)).rejects.toThrow(
    /a package may not set trt_engine_cache_path: see PROVIDER_OPTIONS/,
  );
});

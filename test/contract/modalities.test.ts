import { describe, expect, test } from "vitest";
import { JobError } from "#framemill/core/errors.js";
import type { AdmitContext, JobView } from "#framemill/core/modality.js";
import { listModelPackages, modelInfo } from "#framemill/inference/model-package.js";
import { listModalities } from "#framemill/modalities/index.js";
import { fileURLToPath } from "node:url";

const modelsDir = fileURLToPath(new URL("../../models", import.meta.url));
const packages = await listModelPackages(modelsDir);
const models = await Promise.all(packages.map(modelInfo));

/** The least that each modality accepts. */
const SMALLEST: Readonly<Record<string, object>> = {
  video: { prompt: "a red boat", seconds: 4 },
};

describe.each(listModalities().map((modality) => ({ name: modality.name, modality })))(
  "the modality $name",
  ({ name, modality }) => {
    const model = models.find((candidate) => candidate.modality === name);
    const saved: Uint8Array[] = [];
    const context = (): AdmitContext => {
      if (model === undefined) throw new Error(`models/ has no starter for ${name}`);
      return {
        model,
        saveInput: async (bytes, mediaType) => {
          saved.push(bytes);
          const byteLength = bytes.byteLength;
          return { id: "input", variant: "input", mediaType, byteLength, sha256: "" };
        },
      };
    };
    const admit = () => modality.admit({ model: model?.id, ...SMALLEST[name] }, context());

    test("has a starter model and describes its request and its answer", () => {
      expect(context().model.modality).toBe(name);
      expect(modality.requestSchema()).toMatchObject({
        type: "object",
        required: expect.any(Array),
      });
      expect(modality.responseSchema()).toMatchObject({ type: "object" });
    });

    test("names what is missing from an empty body, and stores nothing", async () => {
      const refusal = await modality.admit({}, context()).catch((thrown: unknown) => thrown);
      expect(refusal).toBeInstanceOf(JobError);
      expect(refusal).toMatchObject({ code: "missing_required_parameter", httpStatus: 400 });
      expect(saved).toEqual([]);
    });

    test.each([null, 7, "text", [], [{}]])("refuses the body %j", async (body) => {
      await expect(modality.admit(body, context())).rejects.toMatchObject({ httpStatus: 400 });
    });

    test("admits a request that survives the queue and has a price", async () => {
      const request = await admit();
      const copy: unknown = JSON.parse(JSON.stringify(request));
      expect(copy).toEqual(request);
      expect(modality.quote(request).amountMicroUsd).toBeGreaterThan(0);
      expect(Number.isInteger(modality.quote(request).amountMicroUsd)).toBe(true);
    });

    test("renders what its own response schema describes", async () => {
      const request = await admit();
      const view: JobView = {
        id: `${modality.endpoint.object}_${"0".repeat(32)}`,
        model: context().model.id,
        state: "queued",
        request,
        progress: 0,
        stage: null,
        createdAtMs: 1_790_000_000_000,
        startedAtMs: null,
        completedAtMs: null,
        expiresAtMs: null,
        failure: null,
        queuePosition: 1,
        etaSeconds: null,
        quote: modality.quote(request),
        chargedMicroUsd: null,
      };
      const schema = modality.responseSchema() as { required: string[] };
      expect(Object.keys(modality.render(view)).toSorted()).toEqual(schema.required.toSorted());
    });
  },
);

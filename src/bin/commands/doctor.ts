import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Config } from "../../config.js";
import { openDatabase } from "../../front/database.js";
import { listModelPackages, verifyModelPackage } from "../../inference/model-package.js";
import { phonemize } from "../../media/espeak.js";
import { chooseVideoEncoder } from "../../media/encoders.js";
import { runFfmpeg } from "../../media/ffmpeg.js";
import { createMessageSigner } from "../../queue/message-signer.js";
import { openBroker } from "../../queue/open-broker.js";
import { openArtifactStore } from "../../storage/open-store.js";
import { createLog } from "../log.js";
import { printJson, printTable } from "./table.js";

const PHONEME_PIPELINES = new Set(["kokoro", "vits"]);

interface Finding {
  readonly part: string;
  readonly ok: boolean;
  /** What was found, or what is wrong. */
  readonly verdict: string;
  /** What to do about it; empty when nothing. */
  readonly mend: string;
}

interface Check {
  readonly part: string;
  readonly mend: string;
  readonly run: (config: Config) => Promise<string>;
}

const CHECKS: readonly Check[] = [
  {
    part: "ffmpeg",
    mend: "install ffmpeg, or set FFMPEG_PATH and FFPROBE_PATH",
    async run({ ffmpegPath, ffprobePath }) {
      await runFfmpeg(["-version"], { ffmpegPath: ffprobePath });
      const { stdout } = await runFfmpeg(["-version"], { ffmpegPath });
      return Buffer.from(stdout).toString().split("\n")[0]?.slice(0, 60) ?? "";
    },
  },
  {
    part: "encoder",
    mend: "use an ffmpeg that was built with libx264 (h264_nvenc is used where it opens)",
    run: async ({ ffmpegPath }) => (await chooseVideoEncoder(ffmpegPath)).name,
  },
  {
    part: "phonemes",
    mend: "install espeak-ng, or set ESPEAK_PATH: these voices read phonemes",
    run: checkPhonemes,
  },
  {
    part: "inference",
    mend: "reinstall the packages: npm ci --ignore-scripts",
    async run() {
      const { faultOf, listExecutionProviders } = await import("../../inference/providers.js");
      const found = listExecutionProviders().map(async (name) => {
        const fault = await faultOf(name);
        return fault === undefined ? `${name} works` : `${name} does not (${fault.slice(0, 60)})`;
      });
      return (await Promise.all(found)).join(", ");
    },
  },
  {
    part: "models",
    mend: "restore the files that model.json names",
    async run({ modelsDir }) {
      const models = await listModelPackages(modelsDir);
      for (const model of models) await verifyModelPackage(model);
      if (models.length === 0) throw new Error(`${modelsDir} holds no model`);
      return models.map(({ id }) => id).join(", ");
    },
  },
  {
    part: "broker",
    mend: "start RabbitMQ 3.10 or later and set AMQP_URL; unset it for the in-process broker",
    async run({ amqpUrl }) {
      // It neither sends nor reads.
      const signer = createMessageSigner({ secret: "" });
      const broker = await openBroker({ amqpUrl, signer });
      const { connected } = broker;
      await broker.close();
      if (!connected) throw new Error("RabbitMQ does not answer at AMQP_URL");
      return amqpUrl === undefined ? "in-process" : "RabbitMQ answers";
    },
  },
  {
    part: "database",
    mend: "start Postgres 14 or later and set DATABASE_URL; unset it for the embedded database",
    async run({ databaseUrl }) {
      const dataDir = await mkdtemp(join(tmpdir(), "framemill-doctor-"));
      try {
        const log = createLog({ logLevel: "silent" }, "doctor");
        const database = await openDatabase({ databaseUrl, dataDir, log });
        await database.close();
      } finally {
        await rm(dataDir, { recursive: true, force: true });
      }
      return databaseUrl === undefined ? "embedded" : "Postgres answers";
    },
  },
  {
    part: "storage",
    mend: "make the folder writable, or check S3_BUCKET, S3_ENDPOINT and the credentials",
    async run(config) {
      const store = await openArtifactStore(config);
      await store.probe();
      await store.close();
      return config.s3Bucket === undefined ? "local folder" : `bucket ${config.s3Bucket}`;
    },
  },
];

/** Voices that read phonemes need espeak-ng; without such a model nothing is missing. */
async function checkPhonemes({ modelsDir, espeakPath }: Config): Promise<string> {
  const models = await listModelPackages(modelsDir);
  const voices = models.filter(({ pipeline }) => PHONEME_PIPELINES.has(pipeline));
  if (voices.length === 0) return "no model needs them";
  await phonemize(["boat"], { espeakPath, voice: "en-us" });
  return `espeak-ng, for ${voices.map(({ id }) => id).join(", ")}`;
}

/** Prints a verdict and a mend for each part; the exit code is 1 when one is not usable. */
export async function doctor(options: { readonly json?: boolean }, config: Config): Promise<void> {
  const findings = await examine(config);
  if (options.json) printJson(findings);
  else
    printTable(
      findings.map(({ part, ok, verdict, mend }) => ({
        part,
        state: ok ? "ok" : "FAILS",
        verdict,
        mend,
      })),
    );
  if (findings.some(({ ok }) => !ok)) process.exitCode = 1;
}

/** Looks at every part the service stands on. */
async function examine(config: Config): Promise<Finding[]> {
  return Promise.all(
    CHECKS.map(async ({ part, mend, run }) => {
      try {
        return { part, ok: true, verdict: await run(config), mend: "" };
      } catch (thrown) {
        const verdict = thrown instanceof Error ? thrown.message : String(thrown);
        return { part, ok: false, verdict, mend };
      }
    }),
  );
}

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { lookup } from "node:dns/promises";
import { z } from "zod";
import { type Config, parseProviderOptions } from "../../config.js";
import { messageOf, toJobError } from "../../core/errors.js";
import {
  faultOf as schemaFaultOf,
  isSmall,
  openDatabase,
  openMigrator,
  readSchema,
} from "../../front/ledger/index.js";
import {
  listModelPackages,
  type ModelPackage,
  readModelText,
  verifyModelPackage,
} from "../../runtime/packages/model-package.js";
import { describePlacement } from "../../runtime/ort/placement.js";
import { phonemize } from "../../media/espeak.js";
import { chooseVideoEncoder } from "../../media/encoder.js";
import { describeFfmpeg, FFMPEG_MEND } from "../../media/ffmpeg.js";
import { createMessageSigner, openBroker } from "../../queue/index.js";
import { createReporter, readTlsFiles } from "../../rpc/index.js";
import { openArtifactStore } from "../../storage/index.js";
import { createLog } from "../log.js";
import { findWorkerToken } from "../data-folder.js";
import { runnerParts } from "../package-runner.js";
import { printJson, wrapText } from "./table.js";

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
  /** Whether the configuration has anything to look at; always by default. */
  readonly applies?: (config: Config) => boolean;
  readonly run: (config: Config) => Promise<string>;
}

const CHECKS: readonly Check[] = [
  {
    part: "ffmpeg",
    mend: FFMPEG_MEND,
    run: describeFfmpeg,
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
    run: checkProviders,
  },
  {
    part: "placement",
    mend: "look at docs/gpu.md: what a provider lacks runs on the CPU; MAX_HOST_SHARE refuses it",
    applies: ({ providers = [] }) => providers.some((name) => name !== "cpu"),
    run: checkPlacement,
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
    async run({ amqpUrl, consumerTimeoutMs }) {
      // It neither sends nor reads.
      const signer = createMessageSigner({ secret: "" });
      const broker = await openBroker({ amqpUrl, signer });
      const { connected } = broker;
      await broker.close();
      if (!connected) throw new Error("RabbitMQ does not answer at AMQP_URL");
      if (amqpUrl === undefined) return "in-process";
      return `RabbitMQ answers; its consumer_timeout, which it does not tell, must be ${consumerTimeoutMs} ms or more (CONSUMER_TIMEOUT_MS)`;
    },
  },
  {
    part: "database",
    mend: "start Postgres 14 or later and set DATABASE_URL; unset it for the embedded database",
    run: checkDatabase,
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
  {
    part: "front",
    mend: "start the front, set FRONT_ADDRESS to its gRPC address, and give both the same WORKER_TOKEN",
    applies: ({ given }) => given.has("frontAddress"),
    run: checkFront,
  },
  {
    part: "advertised",
    mend: "set GRPC_ADVERTISE to host:port as workers on other machines reach this front's gRPC",
    applies: ({ grpcAdvertise }) => grpcAdvertise !== undefined,
    run: checkAdvertised,
  },
];

/** Only what is asked for is tried: drivers that are not there complain on the terminal. */
async function checkProviders(config: Config): Promise<string> {
  const { providers, modelsDir } = config;
  const options = parseProviderOptions(config);
  const [{ chooseProviders, describeTimes, faultOf }, { listExecutionProviders }] =
    await Promise.all([
      import("../../runtime/ort/choose-providers.js"),
      import("../../runtime/ort/providers.js"),
    ]);
  const built: readonly string[] = listExecutionProviders();
  const models = providers === undefined ? await listModelPackages(modelsDir) : [];
  const asked = new Set(providers ?? models.flatMap(({ execution }) => execution.providers));
  const isTried = (name: string) => name === "cpu" || asked.has("auto") || asked.has(name);
  const found = built.filter(isTried).map(async (name) => {
    const fault = await faultOf(name, options);
    return fault === undefined ? `${name} works` : `${name} does not (${fault})`;
  });
  const others = built.filter((name) => !isTried(name));
  const untried = others.length === 0 ? [] : [`not asked for: ${others.join(", ")}`];
  const tried = await Promise.all(found);
  if (!asked.has("auto")) return [...tried, ...untried].join("; ");
  const chosen = await chooseProviders(["auto"], options);
  const [first] = chosen.providers;
  const reason = describeTimes(chosen) || "nothing else works";
  return [...tried, ...untried, `auto takes ${first}: ${reason}`].join("; ");
}

/** Makes every model's example as a worker does at its start, and tells where the nodes ran. */
async function checkPlacement(config: Config): Promise<string> {
  const models = await listModelPackages(config.modelsDir);
  const inference = runnerParts(config).openInference(models.map(({ path }) => path));
  try {
    await inference.ready();
    const lines = (inference.placements ?? []).flatMap(({ model, graphs }) =>
      graphs.map((graph) => `${model}, ${describePlacement(graph)}`),
    );
    return lines.length === 0 ? "every graph runs on the CPU" : lines.join("; ");
  } finally {
    await inference.close();
  }
}

/** Voices that read phonemes need espeak-ng; without such a model nothing is missing. */
async function checkPhonemes({ modelsDir, espeakPath }: Config): Promise<string> {
  const models = await listModelPackages(modelsDir);
  const asked = await Promise.all(models.map(readsPhonemes));
  const voices = models.filter((_, at) => asked[at]);
  if (voices.length === 0) return "no model needs them";
  await phonemize(["boat"], { espeakPath, voice: "en-us" });
  return `espeak-ng, for ${voices.map(({ id }) => id).join(", ")}`;
}

/**
 * Kokoro and KittenTTS always; a VITS where its own settings say so (Piper's `phoneme_type`, transformers'
 * `phonemize`).
 */
async function readsPhonemes(model: ModelPackage): Promise<boolean> {
  if (model.pipeline === "kokoro" || model.pipeline === "kitten-tts") return true;
  if (model.pipeline !== "vits" && model.pipeline !== "hf-vits") return false;
  const config = await readSettings(model, "config");
  if ("phoneme_id_map" in config) return (config["phoneme_type"] ?? "espeak") === "espeak";
  return (await readSettings(model, "tokenizer-config"))["phonemize"] === true;
}

async function readSettings(model: ModelPackage, role: string): Promise<Record<string, unknown>> {
  if (model.files[role] === undefined) return {};
  return z.looseObject({}).parse(JSON.parse(await readModelText(model, role)));
}

async function checkDatabase({ databaseUrl }: Config): Promise<string> {
  if (databaseUrl === undefined) {
    const dataDir = await mkdtemp(join(tmpdir(), "framemill-doctor-"));
    try {
      const log = createLog({ logLevel: "silent" }, "doctor");
      await (await openDatabase({ dataDir, log })).close();
      return "embedded";
    } finally {
      await rm(dataDir, { recursive: true, force: true });
    }
  }
  const db = openMigrator(databaseUrl);
  try {
    const fault = schemaFaultOf(await readSchema(db));
    if (fault === undefined) return "Postgres answers; its schema is that of this release";
    if (await isSmall(db)) return "Postgres answers; a front brings its schema up to date";
    throw new Error(fault);
  } finally {
    await db.close();
  }
}

/** No front knows this job: it answers whoever has its token, and changes nothing. */
const NO_JOB = `video_${"0".repeat(32)}`;

async function checkFront(config: Config): Promise<string> {
  const { frontAddress: address, tlsServerName: serverName } = config;
  const tls = await readTlsFiles({
    certFile: config.workerCertFile,
    keyFile: config.workerKeyFile,
    caFile: config.tlsCaFile,
  });
  const token = await findWorkerToken(config);
  if (token === undefined) throw new Error("WORKER_TOKEN is not set");
  const reporter = createReporter({ address, token, tls, serverName, retryMs: 2_000 });
  try {
    await reporter.claim(NO_JOB, "doctor");
    return `${address} answers, and accepts WORKER_TOKEN`;
  } catch (thrown) {
    const { code, message } = toJobError(thrown);
    if (code === "invalid_api_key")
      throw new Error(`${address} refuses this WORKER_TOKEN`, { cause: thrown });
    throw new Error(`${address} does not answer: ${message}`, { cause: thrown });
  } finally {
    await reporter.close();
  }
}

const ADVERTISED = /^\[?([^\]]+)\]?:(\d{1,5})$/;
const LOOPBACK = /^(localhost$|127\.|::1$)/;

async function checkAdvertised({ grpcAdvertise = "", host }: Config): Promise<string> {
  const [, name, port] = ADVERTISED.exec(grpcAdvertise) ?? [];
  if (name === undefined || Number(port) < 1 || Number(port) > 65_535)
    throw new Error(`GRPC_ADVERTISE ${grpcAdvertise} is no host:port`);
  const { address } = await lookup(name).catch((cause: unknown) => {
    throw new Error(`GRPC_ADVERTISE ${grpcAdvertise}: ${name} is not known`, { cause });
  });
  if (address === "0.0.0.0" || address === "::")
    throw new Error(`GRPC_ADVERTISE ${grpcAdvertise}: nobody can call ${address}`);
  if (LOOPBACK.test(address) && !LOOPBACK.test(host))
    throw new Error(
      `GRPC_ADVERTISE ${grpcAdvertise} is this machine to every worker, HOST ${host} serves others`,
    );
  return `workers are told ${grpcAdvertise}`;
}

/** Prints a verdict and a mend for each part; the exit code is 1 when one is not usable. */
export async function doctor(options: { readonly json?: boolean }, config: Config): Promise<void> {
  const findings = await examine(config);
  if (options.json) printJson(findings);
  else process.stdout.write(findings.map(renderFinding).join(""));
  if (findings.some(({ ok }) => !ok)) process.exitCode = 1;
}

const PART_COLUMNS = 20;

function renderFinding({ part, ok, verdict, mend }: Finding): string {
  const columns = Math.max((process.stdout.columns ?? 100) - PART_COLUMNS, 20);
  const texts = mend === "" ? [verdict] : [verdict, `→ ${mend}`];
  const lines = texts.flatMap((text) => wrapText(text, columns));
  const head = `${part.padEnd(12)}${(ok ? "ok" : "FAILS").padEnd(8)}`;
  return lines.map((line, at) => `${at === 0 ? head : " ".repeat(PART_COLUMNS)}${line}\n`).join("");
}

/** Looks at every part the service stands on. */
async function examine(config: Config): Promise<Finding[]> {
  const asked = CHECKS.filter(({ applies }) => applies?.(config) ?? true);
  return Promise.all(
    asked.map(async ({ part, mend, run }) => {
      try {
        return { part, ok: true, verdict: await run(config), mend: "" };
      } catch (thrown) {
        return { part, ok: false, verdict: messageOf(thrown), mend };
      }
    }),
  );
}

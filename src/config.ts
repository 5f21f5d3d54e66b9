import { isIP } from "node:net";
import { availableParallelism, hostname, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { z } from "zod";

const count = z.coerce.number().int().positive();
const port = z.coerce.number().int().min(0).max(65_535);
const words = z.string().transform((text) =>
  text
    .split(",")
    .map((word) => word.trim())
    .filter(Boolean),
);
const list = z.union([words, z.array(z.string())]);

function isNetwork(text: string): boolean {
  const [address = "", bits] = text.split("/");
  const most = isIP(address) === 6 ? 128 : 32;
  return (
    isIP(address) !== 0 && (bits === undefined || (/^\d+$/.test(bits) && Number(bits) <= most))
  );
}

/** `*`, or scheme, host and port as browsers send them. */
function isOrigin(text: string): boolean {
  return text === "*" || (URL.canParse(text) && new URL(text).origin === text);
}

const LOOPBACK = new Set(["127.0.0.1", "::1", "localhost"]);

/** Name, model. */
const ALIAS = /^([^=,\s]{1,128})=([^=,\s]{1,128})$/;

/** Provider, option, value. */
const PROVIDER_OPTION = /^([a-z]+)\.([\w.]+)=(.+)$/;

/** Every setting: its environment name is the field in capitals with underscores. */
const settings = z.object({
  /** Folder of embedded database, local artifacts, dev.json and spools. Change: always in production. */
  dataDir: z.string().default(".framemill"),
  /** Folder of model packages. Change: when models live on a volume. */
  modelsDir: z.string().default(fileURLToPath(new URL("../models", import.meta.url))),
  /** `amqp(s)://…`; unset = in-process broker. */
  amqpUrl: z.url({ protocol: /^amqps?$/ }).optional(),
  /** `postgres://…`; unset = embedded PGlite in dataDir. */
  databaseUrl: z.url({ protocol: /^postgres(ql)?$/ }).optional(),
  /** Most connections of one front to Postgres, but for one that listens. Change: so that all fronts' stay below `max_connections`. */
  databaseConnections: count.default(20),
  /** S3 bucket of artifacts; unset = dataDir/artifacts. */
  s3Bucket: z.string().optional(),
  /** Base URL of an S3-compatible service; unset = AWS. */
  s3Endpoint: z.url().optional(),
  /** Region of the bucket. */
  s3Region: z.string().default("us-east-1"),
  /** Credentials; unset = the AWS SDK's own chain (instance role, profile). */
  s3AccessKeyId: z.string().optional(),
  /** The secret that goes with S3_ACCESS_KEY_ID. */
  s3SecretAccessKey: z.string().optional(),
  /** Address the HTTP API listens on. Change: `0.0.0.0` in a container. */
  host: z.string().default("127.0.0.1"),
  /** HTTP port; 0 = any free one. */
  port: port.default(8080),
  /** Port of the gRPC contract with workers; 0 = any free one. */
  grpcPort: port.default(8081),
  /** Port of a front's `/metrics`, without a key or TLS; 0 = any free one, unset = at PORT where HOST is loopback, else not served. Change: in production. */
  metricsPort: port.optional(),
  /** Port of KEDA's external scaler, without a token; 0 = any free one, unset = not served. */
  scalerPort: port.optional(),
  /** gRPC address that workers report to; unset = host:grpcPort, for 0.0.0.0 the first outward address. */
  grpcAdvertise: z.string().optional(),
  /** gRPC address of the front, as a worker reaches it. */
  frontAddress: z.string().default("127.0.0.1:8081"),
  /** Shared secret of fronts and workers: it opens gRPC and signs the queue's messages. Required off loopback; unset = the one that front and worker make in dataDir. */
  workerToken: z.string().min(16).optional(),
  /** Whether messages that bear no signature, and fencing tokens that bear no seal, are taken. Change: while fronts of before they did are replaced. */
  acceptUnsigned: z.union([z.boolean(), z.stringbool()]).default(false),
  /** Bearer key of the admin routes; unset = none, except that `up` makes one in dataDir. */
  adminKey: z.string().min(16).optional(),
  /** More keys of the admin routes, `name=key,name=key`, each of 16 characters or more: the audit trail has their names. ADMIN_KEY's is `admin`. */
  adminKeys: z
    .string()
    .regex(/^[\w.@-]{1,64}=[^,\s]{16,}(,[\w.@-]{1,64}=[^,\s]{16,})*$/, "must be name=key,name=key")
    .optional(),
  /** PEM file of the certificate for HTTPS and gRPC TLS; none without its key. */
  tlsCertFile: z.string().optional(),
  /** PEM file of the key that goes with TLS_CERT_FILE. */
  tlsKeyFile: z.string().optional(),
  /** PEM file of a worker's client certificate (mTLS); none without its key. */
  workerCertFile: z.string().optional(),
  /** PEM file of the key that goes with WORKER_CERT_FILE. */
  workerKeyFile: z.string().optional(),
  /** PEM file of the authority that signs workers' certificates (on a front) or the front's (on a worker). */
  tlsCaFile: z.string().optional(),
  /** Name that the fronts' certificate bears, where a worker calls them by others, as by their pods' addresses. */
  tlsServerName: z.string().optional(),
  /** Base URL of this service as callers see it, for links to files; unset = as each request names it. */
  publicUrl: z.url().optional(),
  /** Origins whose pages may call the API from a browser, comma-separated, as `https://app.example.com`; `*` = any; unset = none. */
  corsOrigins: list.refine((all) => all.every(isOrigin), "not an origin").optional(),
  /** Names that stand for models, `name=model,name=model`, as programs have them in their source. Change: `gpt-4o-mini=service-chat-1` serves a program unaltered. */
  modelAliases: list
    .refine((all) => all.every((one) => ALIAS.test(one)), "must be name=model")
    .optional(),
  /** Addresses of the proxies before this front (CIDR too), comma-separated: callers' own are then taken from X-Forwarded-For. Change: behind a load balancer, so that failed keys count by caller. */
  trustProxy: list.refine((all) => all.every(isNetwork), "not an address or network").optional(),
  /** Milliseconds that a front's event loop may stand still before the process ends itself, to be started again; 0 = for ever. */
  watchdogMs: z.coerce.number().int().nonnegative().default(30_000),
  /** Event streams and waits that a project may have open at one front. */
  watchesPerProject: count.default(64),
  /** JSON file of prices in micro-dollars a unit, by `modality[/tier][@service tier][:model]`; its rows replace the list prices'. */
  pricesFile: z.string().optional(),
  /** Moderation model that judges every prompt before it is queued; unset = none. */
  moderationModel: z.string().optional(),
  /** Longest wait for an answer that is not polled, in milliseconds. */
  replyTimeoutMs: count.default(600_000),
  /** Whether webhooks may go to plain HTTP, this machine and private networks. Change: for tests. */
  webhookAllowPrivate: z.union([z.boolean(), z.stringbool()]).default(false),
  /** Requests a minute per project. */
  requestsPerMinute: count.default(600),
  /** Tokens a minute per project. */
  tokensPerMinute: count.default(200_000),
  /** Most that all workers together may cost an hour, in dollars: the scaler asks for no more of them; unset = no limit. Needs GPU_DOLLARS_PER_HOUR of the workers. */
  maxGpuDollarsPerHour: z.coerce.number().positive().max(1e9).optional(),
  /** Days after which ended videos, music and stored responses are forgotten, with their prompts and answers. Change: to what you promise your callers. */
  retentionDays: count.default(30),
  /** Jobs that a worker runs at once, over all models that take one at a time: so many polled ones, and so many of callers, for whom polled ones rest between two steps. */
  slots: count.default(1),
  /** CPU threads of the inference process. */
  threads: count.default(availableParallelism()),
  /** Execution providers of the models, comma-separated: `cuda`, `tensorrt`, `webgpu`, `cpu`, or `auto` for the fastest that works; unset = what each model.json says. */
  providers: list.optional(),
  /** Options of execution providers, `provider.option=value` and comma-separated, by ONNX Runtime's names; they stand over model.json's. Change: `cuda.gpu_mem_limit=BYTES` where others use the GPU. */
  providerOptions: list
    .refine((all) => all.every((one) => PROVIDER_OPTION.test(one)), "must be provider.option=value")
    .optional(),
  /** GPUs of CUDA and TensorRT by their numbers, comma-separated: an inference process for each; unset = one process on the first. Change: where a worker has several. */
  devices: list
    .refine((all) => all.length > 0 && all.every((one) => /^\d+$/.test(one)), "not numbers")
    .refine((all) => new Set(all).size === all.length, "names a device twice")
    .optional(),
  /** Largest share of a graph's nodes, 0 to 1, that may run on the CPU where another provider is asked for: a model beyond it keeps the worker from getting ready; 1 = any. Change: where falling back unnoticed is worse than not starting. */
  maxHostShare: z.coerce.number().min(0).max(1).default(1),
  /** Bytes of prompts that each chat model remembers, so that a later turn reads only what is new; 0 = none; unset = as many as its files have, 64 MiB to 1 GiB. Change: a token takes 2 × layers × key-value heads × head size × 4 bytes. */
  promptCacheBytes: z.coerce.number().int().nonnegative().optional(),
  /** Whether clips can be played while they are made: a worker then writes them to the artifact store in pieces, too, which go minutes after the end. Change: to `false` where nobody watches and each write is paid for. */
  livePlayback: z.union([z.boolean(), z.stringbool()]).default(true),
  /** Models a worker serves, comma-separated; unset = all in modelsDir. */
  models: list.optional(),
  /** Name of this worker in leases and logs. */
  workerId: z.string().default(`${hostname()}-${process.pid}`),
  /** Whether media get a manifest that says a model made them (C2PA). Change: to `false` where something behind the service marks them. */
  provenance: z.union([z.boolean(), z.stringbool()]).default(true),
  /** Private key that signs manifests (PEM). Unset, a worker makes its own, whose signer nobody knows. */
  provenanceKeyFile: z.string().optional(),
  /** Certificates of that key (PEM), the signer's own first, without the root. */
  provenanceCertificateFile: z.string().optional(),
  /** What this worker's machine costs an hour, in dollars: the ledger sums what its time was used for, and fronts keep MAX_GPU_DOLLARS_PER_HOUR by it; 0 = not said. */
  gpuDollarsPerHour: z.coerce.number().min(0).max(1e6).default(0),
  /** Folder for unfinished files. Change: to a fast local disk with 1 GiB free. */
  scratchDir: z.string().default(join(tmpdir(), "framemill")),
  /** Health and metrics port of the worker; 0 = any free one. */
  workerPort: port.default(8082),
  /** Milliseconds a SIGTERM may take. Keep it below the pod's termination grace. */
  drainMs: count.default(25_000),
  /** Longest run of one job, in milliseconds, at most 0.66 × CONSUMER_TIMEOUT_MS; unset = 20 minutes, or that. */
  jobTimeoutMs: count.optional(),
  /** Silence of a running job after which its inference process counts as hung and is replaced, in milliseconds. Change: for graphs that run longer at a time. */
  stallMs: count.default(120_000),
  /** Bytes that a worker and its inference process may hold; unset = 90 % of the container's memory. Change: where workers share a machine. */
  memoryBytes: count.optional(),
  /** Bytes that loaded models may hold together, by model.json's `memory`; unset = three quarters of MEMORY_BYTES. Those over it are loaded when a job needs them. */
  modelMemoryBytes: count.optional(),
  /** Milliseconds without work after which a model leaves memory, to be loaded again by the next job that needs it; 0 = it stays; unset = 5 minutes for `up`, never for `worker`. At the start all are loaded once, to see that they can be. */
  modelIdleMs: z.coerce.number().int().nonnegative().optional(),
  /** Milliseconds that a worker's inference process keeps its models for the next worker with the same DATA_DIR, however its own ended; a supervisor starts that at once where the worker was killed or crashed; 0 = it ends with its worker. Change: where loading takes long. */
  adoptMs: z.coerce.number().int().min(0).max(3_600_000).default(0),
  /** Models that make an example before the worker is ready: `auto` = those that do not run on the CPU, `always`, `never`. */
  warmUp: z.enum(["auto", "always", "never"]).default("auto"),
  /** Folder of a worker's optimised graphs and checked files, which the next start need not make and read again; unset = none. Change: to a folder of the worker's own that outlives it. */
  cacheDir: z.string().optional(),
  /** The broker's consumer_timeout, in milliseconds: a job that ran longer would be taken away. Change: with the broker's. */
  consumerTimeoutMs: count.default(1_800_000),
  /** The ffmpeg binary. */
  ffmpegPath: z.string().default("ffmpeg"),
  /** The ffprobe that goes with it. */
  ffprobePath: z.string().default("ffprobe"),
  /** The espeak-ng binary, which turns text into phonemes for speech models. */
  espeakPath: z.string().default("espeak-ng"),
  /** Bearer token of the hub that `models pull` downloads from; unset = public repositories only. */
  hubToken: z.string().optional(),
  /** A running front for the command line's `generate`, with `/v1`, and a key to it. */
  framemillBaseUrl: z.url().optional(),
  /** The key that goes with FRAMEMILL_BASE_URL. */
  framemillApiKey: z.string().optional(),
  /** Base URL of an OTLP/HTTP receiver (a collector) that traces go to; unset = nothing is traced. */
  otelExporterOtlpEndpoint: z.url({ protocol: /^https?$/ }).optional(),
  /** Headers of every export, `name=value,name=value`: what the receiver wants of a key. */
  otelExporterOtlpHeaders: z.string().optional(),
  /** Share of traces kept, 0 to 1, where the caller's `traceparent` has not decided. */
  otelTracesSamplerArg: z.coerce.number().min(0).max(1).default(1),
  /** File that traces are appended to, as lines of OTLP JSON; unset = none. Change: to see one clip's way without a receiver. */
  tracesFile: z.string().optional(),
  /** Least severe line that is logged. Change: `debug` for one line a request, `silent` for none. */
  logLevel: z.enum(["fatal", "error", "warn", "info", "debug", "trace", "silent"]).default("info"),
});

type Settings = z.infer<typeof settings>;

export interface Config extends Readonly<Settings> {
  /** Settings that somebody gave, in the environment or as an option; the others have their defaults. */
  readonly given: ReadonlySet<keyof Settings>;
}

/** Parses the environment once. A wrong value throws a sentence that names the variable. */
export function loadConfig(
  overrides: Partial<Config> = {},
  environment: NodeJS.ProcessEnv = process.env,
): Config {
  const fields = settings.keyof().options;
  const values = fields.map(
    (field) =>
      [field, overrides[field] ?? (environment[environmentName(field)] || undefined)] as const,
  );
  const parsed = settings.safeParse(Object.fromEntries(values));
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    const name = environmentName(String(issue?.path[0] ?? ""));
    throw new Error(`${name} is not usable: ${issue?.message ?? "unknown reason"}`);
  }
  const given = new Set(values.filter(([, value]) => value !== undefined).map(([field]) => field));
  const config = { ...parsed.data, dataDir: resolve(parsed.data.dataDir), given };
  checkTogether(config);
  return Object.freeze(config);
}

const LONGEST_JOB_MS = 1_200_000;
/** Of the broker's consumer_timeout; what is left is for the upload and the report. */
const JOB_SHARE = 0.66;

/** When a running job is stopped, in milliseconds. */
export function longestJobMs({ jobTimeoutMs, consumerTimeoutMs }: Config): number {
  return jobTimeoutMs ?? Math.min(LONGEST_JOB_MS, JOB_SHARE * consumerTimeoutMs);
}

/** Whether only this machine reaches the server. */
export function isLoopback({ host }: Pick<Config, "host">): boolean {
  return LOOPBACK.has(host);
}

/** Rules over several fields. */
function checkTogether(config: Config): void {
  const most = JOB_SHARE * config.consumerTimeoutMs;
  if ((config.jobTimeoutMs ?? 0) > most) {
    throw new Error(
      `JOB_TIMEOUT_MS ${config.jobTimeoutMs} must be at most ${most}, 0.66 of CONSUMER_TIMEOUT_MS: the broker would take the job away`,
    );
  }
  requireBoth("TLS_CERT_FILE", config.tlsCertFile, "TLS_KEY_FILE", config.tlsKeyFile);
  const { provenanceKeyFile: key, provenanceCertificateFile: certificate } = config;
  requireBoth("PROVENANCE_KEY_FILE", key, "PROVENANCE_CERTIFICATE_FILE", certificate);
  requireBoth("WORKER_CERT_FILE", config.workerCertFile, "WORKER_KEY_FILE", config.workerKeyFile);
  if (!isLoopback(config) && config.workerToken === undefined)
    throw new Error(`HOST ${config.host} can be reached by others: set WORKER_TOKEN`);
}

function requireBoth(...[name, value, other, otherValue]: (string | undefined)[]): void {
  if ((value === undefined) !== (otherValue === undefined)) {
    throw new Error(`${name} and ${other} go together: one of them is not set`);
  }
}

/** PROVIDER_OPTIONS, by provider and option. */
export function parseProviderOptions({
  providerOptions = [],
}: Config): Record<string, Record<string, string>> {
  const parsed: Record<string, Record<string, string>> = {};
  for (const text of providerOptions) {
    const [, provider = "", option = "", value = ""] = PROVIDER_OPTION.exec(text) ?? [];
    parsed[provider] = { ...parsed[provider], [option]: value };
  }
  return parsed;
}

/** MODEL_ALIASES, by name. */
export function parseModelAliases({ modelAliases = [] }: Config): ReadonlyMap<string, string> {
  return new Map(
    modelAliases
      .map((text) => ALIAS.exec(text) ?? [])
      .map(([, name = "", model = ""]) => [name, model]),
  );
}

function environmentName(field: string): string {
  return field.replace(/[A-Z]/g, (upper) => `_${upper}`).toUpperCase();
}

/** The environment of a child process that is to have these settings, over this process's own. */
export function environmentOf(config: Config): NodeJS.ProcessEnv {
  // An empty variable counts as unset: this process's own value must not reach the child instead.
  const named = settings
    .keyof()
    .options.map((field) => [environmentName(field), String(config[field] ?? "")]);
  return { ...process.env, ...Object.fromEntries(named) };
}

/** What the queue does with a delivery after its job ended this way. */
export type Disposition = "ack" | "retry" | "reject";

interface Failure {
  readonly http: number;
  readonly type:
    | "invalid_request_error"
    | "rate_limit_error"
    | "insufficient_quota"
    | "server_error";
  readonly disposition: Disposition;
}

const invalid = { http: 400, type: "invalid_request_error", disposition: "ack" } as const;
const notFound = { http: 404, type: "invalid_request_error", disposition: "ack" } as const;
const conflict = { http: 409, type: "invalid_request_error", disposition: "ack" } as const;
const limited = { http: 429, type: "rate_limit_error", disposition: "ack" } as const;
const fault = { http: 500, type: "server_error", disposition: "retry" } as const;
const unavailable = { http: 503, type: "server_error", disposition: "retry" } as const;

/**
 * One row per way a request or a job can fail; every boundary reads its own column. The HTTP body is
 * `{error: {message, type, param, code}}` with the row's name as `code`.
 */
const FAILURES = {
  invalid_value: invalid,
  missing_required_parameter: invalid,
  unknown_parameter: invalid,
  invalid_json: invalid,
  content_policy_violation: invalid,
  invalid_image_format: invalid,
  invalid_base64_image: invalid,
  invalid_image_url: invalid,
  image_too_large: invalid,
  image_parse_error: invalid,
  failed_to_download_image: invalid,
  invalid_api_key: { ...invalid, http: 401 },
  permission_denied: { ...invalid, http: 403 },
  context_length_exceeded: invalid,
  model_not_found: notFound,
  not_found: notFound,
  method_not_allowed: { ...notFound, http: 405 },
  request_timeout: { ...invalid, http: 408 },
  start_deadline_exceeded: { ...invalid, http: 408 },
  idempotency_conflict: conflict,
  payload_too_large: { ...invalid, http: 413 },
  unsupported_media_type: { ...invalid, http: 415 },
  range_not_satisfiable: { ...invalid, http: 416 },
  rate_limit_exceeded: limited,
  insufficient_quota: { ...limited, type: "insufficient_quota" },
  cancelled: conflict,
  deadline_exceeded: { ...fault, disposition: "ack" },
  out_of_memory: fault,
  encoder_failed: fault,
  invalid_output: fault,
  inference_crashed: fault,
  inference_stalled: fault,
  device_lost: fault,
  lease_lost: { ...fault, disposition: "ack" },
  worker_fault: fault,
  store_unavailable: unavailable,
  preempted: fault,
  server_error: fault,
  service_unavailable: unavailable,
} as const satisfies Record<string, Failure>;

/** How any object that is polled or stored can be out of reach, as the end of `<object>_not_ready` and the like. */
const RESOURCE_FAILURES = {
  not_found: notFound,
  not_ready: conflict,
  not_live: conflict,
  failed: conflict,
  expired: { ...conflict, http: 410 },
} as const satisfies Record<ResourceSuffix, Failure>;

const RESOURCE_SUFFIXES = ["not_found", "not_ready", "not_live", "failed", "expired"] as const;
type ResourceSuffix = (typeof RESOURCE_SUFFIXES)[number];

export type FailureCode = keyof typeof FAILURES | `${string}_${ResourceSuffix}`;

/** `object` as the modality's endpoint names it. */
export function resourceCode(object: string, suffix: ResourceSuffix): FailureCode {
  return `${object}_${suffix}`;
}

function isNamed(code: string): code is keyof typeof FAILURES {
  return Object.hasOwn(FAILURES, code);
}

function suffixOf(code: string): ResourceSuffix | undefined {
  return RESOURCE_SUFFIXES.find((suffix) => code.endsWith(`_${suffix}`));
}

function failureOf(code: FailureCode): Failure {
  if (isNamed(code)) return FAILURES[code];
  return RESOURCE_FAILURES[suffixOf(code) ?? "failed"];
}

export interface JobErrorOptions extends ErrorOptions {
  /** The request field at fault, in the caller's spelling, e.g. `seconds`. */
  readonly param?: string;
  /** What the caller should wait before it tries again, in seconds. */
  readonly retryAfterSeconds?: number;
}

/**
 * The only error that crosses a process, queue or wire boundary. Compare `code`, never `instanceof`,
 * on the far side: IPC and protobuf both drop the class.
 */
export class JobError extends Error {
  override readonly name = "JobError";
  readonly code: FailureCode;
  readonly param: string | null;
  readonly retryAfterSeconds: number | undefined;

  constructor(code: FailureCode, message: string, options: JobErrorOptions = {}) {
    super(message, options);
    this.code = code;
    this.param = options.param ?? null;
    this.retryAfterSeconds = options.retryAfterSeconds;
  }

  get httpStatus(): number {
    return failureOf(this.code).http;
  }

  get type(): Failure["type"] {
    return failureOf(this.code).type;
  }

  get disposition(): Disposition {
    return failureOf(this.code).disposition;
  }
}

/**
 * What fills the model's context, e.g. `your prompt has 600 tokens`. Clients that go on with a shorter prompt
 * know the sentence by its beginning.
 */
export function contextExceeded(contextTokens: number, excess: string, param: string): JobError {
  const message = `This model's maximum context length is ${contextTokens} tokens. However, ${excess}.`;
  return new JobError("context_length_exceeded", message, { param });
}

/** Codes that are answered with an HTTP status; `<object>` stands for any object that is polled or stored. */
export function codesOfStatus(status: number): string[] {
  const suffixes = RESOURCE_SUFFIXES.filter((suffix) => RESOURCE_FAILURES[suffix].http === status);
  return [
    ...Object.entries(FAILURES).flatMap(([code, { http }]) => (http === status ? [code] : [])),
    ...suffixes.map((suffix) => `<object>_${suffix}`),
  ];
}

export function isFailureCode(code: string): code is FailureCode {
  return isNamed(code) || suffixOf(code) !== undefined;
}

/**
 * Any thrown value as a `JobError` that keeps it as its cause: `worker_fault` where the machine has no
 * room, no file handle or no memory left, `server_error` for what nobody foresaw.
 */
export function toJobError(thrown: unknown): JobError {
  if (thrown instanceof JobError) return thrown;
  const code = isLocalFault(thrown) ? "worker_fault" : "server_error";
  return new JobError(code, messageOf(thrown), { cause: thrown });
}

/** Codes of errno(3) for which the machine is at fault and not the request. */
const LOCAL_FAULTS = /^(ENOSPC|EDQUOT|EROFS|EFBIG|EMFILE|ENFILE|ENOMEM)$/;

/** Whether the error, or what caused it, is of a full or failing machine. */
export function isLocalFault(thrown: unknown): boolean {
  if (!(thrown instanceof Error)) return false;
  return LOCAL_FAULTS.test(systemCodeOf(thrown) ?? "") || isLocalFault(thrown.cause);
}

/** Codes of Postgres, sockets and disks that say "not now" rather than "never". */
const OUTAGES =
  /^(08\w{3}|53\w{3}|57P0[123]|57014|ECONNREFUSED|ECONNRESET|EPIPE|ETIMEDOUT|ENOSPC|EDQUOT|EROFS|EMFILE|ENFILE)$/;
const POOL_TIMEOUT = /timeout exceeded when trying to connect|Connection terminated/;

/** Whether a part that the service needs is away, and the same call may succeed later. */
export function isOutage(thrown: unknown): boolean {
  if (thrown instanceof JobError) return thrown.code === "service_unavailable";
  if (!(thrown instanceof Error)) return false;
  return OUTAGES.test(systemCodeOf(thrown) ?? "") || POOL_TIMEOUT.test(thrown.message);
}

/** What a thrown value says of itself. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}

/** The system's or the database's own code of an error: `EEXIST`, `40P01`; undefined where it has none. */
export function systemCodeOf(thrown: unknown): string | undefined {
  return thrown instanceof Error && "code" in thrown ? String(thrown.code) : undefined;
}

/** For the log: what an error says, and what caused it, which callers do not read. */
export function reasonOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return String(thrown);
  const own = thrown.message || thrown.name;
  const cause = thrown.cause instanceof Error ? reasonOf(thrown.cause) : "";
  return own.includes(cause) ? own : `${own}: ${cause}`;
}

/** Failures that say nothing of the job: no attempt is counted, and it comes again until its deadline. */
const BLAMELESS: ReadonlySet<FailureCode> = new Set([
  "preempted",
  "lease_lost",
  "worker_fault",
  "store_unavailable",
]);

export function isBlamed(code: FailureCode): boolean {
  return !BLAMELESS.has(code);
}

import {
  type CallOptions,
  type ChannelOptions,
  type ClientUnaryCall,
  connectivityState,
  Metadata,
  type requestCallback,
} from "@grpc/grpc-js";
import pRetry from "p-retry";
import { JobError } from "../core/errors.js";
import type {
  ClaimOptions,
  LeaseRef,
  ProgressReport,
  Reporter,
  WorkerStatus,
} from "../core/reports.js";
import { type Tracer, UNTRACED } from "../core/tracing.js";
import type { FrontReporter } from "./local-reporter.js";
import type { WorkerServiceClient } from "./gen/framemill/v1/WorkerService.js";
import {
  decodeAnnounceResponse,
  decodeClaimResponse,
  decodeFailResponse,
  decodeHeartbeatResponse,
  decodeRecordResponse,
  encodeAnnounceRequest,
  encodeCompleteRequest,
  encodeFailRequest,
  encodeReleaseRequest,
} from "./messages.js";
import { MAX_MESSAGE_BYTES, proto } from "./proto.js";
import { type Directive, ReportStream } from "./report-stream.js";
import { fromServiceError } from "./status.js";
import { createClientCredentials, type TlsOptions } from "./tls.js";
import { traceCalls, TRACEPARENT } from "./trace-calls.js";

export interface ReporterOptions {
  /** `host:port` of the front. */
  readonly address: string;
  /** Shared secret of workers and front. */
  readonly token: string;
  /** Given: TLS. With `cert` and `key`: mTLS. */
  readonly tls?: TlsOptions | undefined;
  /** Name in the front's certificate; that of `address` where absent. */
  readonly serverName?: string | undefined;
  /** Deadline of one call, in milliseconds; default 5 000. */
  readonly callTimeoutMs?: number;
  /** How long an unreachable front is tried before a call rejects, in milliseconds; default 10 000. */
  readonly retryMs?: number;
  /** The report stream brought word to stop an attempt, sooner than the next heartbeat would. */
  readonly onDirective?: (lease: LeaseRef, directive: Directive) => void;
  readonly tracer?: Tracer;
}

/** The worker's way to one front. A front that cannot be reached is `service_unavailable`. */
export interface GrpcReporter extends FrontReporter {
  /** Resolves when the connection stands; rejects with `service_unavailable` after `timeoutMs`. */
  ready(timeoutMs: number): Promise<void>;
}

type Invoke<Answer> = (
  client: WorkerServiceClient,
  ...rest: [metadata: Metadata, options: CallOptions, callback: requestCallback<Answer>]
) => ClientUnaryCall;

const CHANNEL_OPTIONS: ChannelOptions = {
  // Without keepalive a black hole hangs a call for 55 s.
  "grpc.keepalive_time_ms": 5_000,
  "grpc.keepalive_timeout_ms": 3_000,
  "grpc.keepalive_permit_without_calls": 1,
  // With the default back-off a front that was away for 60 s is found 40 s after it is back.
  "grpc.initial_reconnect_backoff_ms": 200,
  "grpc.max_reconnect_backoff_ms": 2_000,
  "grpc.max_receive_message_length": MAX_MESSAGE_BYTES,
  "grpc.max_send_message_length": MAX_MESSAGE_BYTES,
  // Each reporter closes its own connection.
  "grpc.use_local_subchannel_pool": 1,
  // Fronts are neighbours, never behind the proxy of the environment.
  "grpc.enable_http_proxy": 0,
};

export function createReporter(options: ReporterOptions): GrpcReporter {
  return new Client(options);
}

interface Calling {
  /** How long an unreachable front is tried. */
  readonly retryMs?: number | undefined;
  readonly traceparent?: string | undefined;
}

class Client implements GrpcReporter {
  readonly #client: WorkerServiceClient;
  readonly #stream: ReportStream;
  readonly #token: string;
  readonly #callTimeoutMs: number;
  readonly #retryMs: number;
  readonly #closed = new AbortController();

  constructor(options: ReporterOptions) {
    const credentials = createClientCredentials(options.tls);
    const { WorkerService } = proto.framemill.v1;
    const { serverName, tracer = UNTRACED } = options;
    this.#client = new WorkerService(options.address, credentials, {
      ...CHANNEL_OPTIONS,
      ...(serverName !== undefined && { "grpc.ssl_target_name_override": serverName }),
      interceptors: tracer === UNTRACED ? [] : [traceCalls(tracer)],
    });
    this.#token = options.token;
    this.#callTimeoutMs = options.callTimeoutMs ?? 5_000;
    this.#retryMs = options.retryMs ?? 10_000;
    this.#stream = new ReportStream({
      open: () => this.#client.report(this.#metadata({ waitForReady: true })),
      onDirective: options.onDirective ?? (() => undefined),
    });
  }

  get connected(): boolean {
    return this.#client.getChannel().getConnectivityState(true) === connectivityState.READY;
  }

  ready(timeoutMs: number): Promise<void> {
    return new Promise((resolve, reject) =>
      this.#client.waitForReady(Date.now() + timeoutMs, (error) => {
        if (error === undefined) return resolve();
        const message = `front not reached within ${timeoutMs} ms`;
        reject(new JobError("service_unavailable", message, { cause: error }));
      }),
    );
  }

  async claim(jobId: string, workerId: string, options: ClaimOptions = {}) {
    const answer = await this.#call(
      (client, ...rest) => client.claim({ jobId, workerId }, ...rest),
      options,
    );
    return decodeClaimResponse(answer, jobId);
  }

  /** Tried for one deadline only: the next heartbeat is due by then. */
  async heartbeat(lease: LeaseRef, workerId: string) {
    const request = { lease, workerId };
    const answer = await this.#call((client, ...rest) => client.heartbeat(request, ...rest), {
      retryMs: this.#callTimeoutMs,
    });
    return decodeHeartbeatResponse(answer);
  }

  /** Tried for one deadline only: the next announcement is due by then. */
  async announce(status: WorkerStatus) {
    const request = encodeAnnounceRequest(status);
    const answer = await this.#call((client, ...rest) => client.announce(request, ...rest), {
      retryMs: this.#callTimeoutMs,
    });
    return decodeAnnounceResponse(answer);
  }

  progress(report: ProgressReport): void {
    this.#stream.push(report);
  }

  async flush(lease: LeaseRef, signal: AbortSignal): Promise<boolean> {
    return await this.#stream.flush(lease, signal);
  }

  forget(lease: LeaseRef): void {
    this.#stream.forget(lease);
  }

  async complete(report: Parameters<Reporter["complete"]>[0]) {
    const request = encodeCompleteRequest(report);
    return decodeRecordResponse(
      await this.#call((client, ...rest) => client.complete(request, ...rest), report),
    );
  }

  async fail(report: Parameters<Reporter["fail"]>[0]) {
    const request = encodeFailRequest(report);
    return decodeFailResponse(
      await this.#call((client, ...rest) => client.fail(request, ...rest), report),
    );
  }

  async release(report: Parameters<Reporter["release"]>[0]) {
    const request = encodeReleaseRequest(report);
    return decodeRecordResponse(
      await this.#call((client, ...rest) => client.release(request, ...rest), report),
    );
  }

  async close(): Promise<void> {
    this.#closed.abort(new JobError("service_unavailable", "the reporter is closed"));
    this.#stream.close();
    this.#client.close();
  }

  /** All calls may be repeated, so all are, while the front is away. */
  #call<Answer>(
    invoke: Invoke<Answer>,
    { retryMs = this.#retryMs, traceparent }: Calling,
  ): Promise<Answer> {
    return pRetry(() => this.#callOnce(invoke, traceparent), {
      retries: Number.POSITIVE_INFINITY,
      minTimeout: 200,
      maxTimeout: 500,
      randomize: true,
      maxRetryTime: retryMs,
      signal: this.#closed.signal,
      shouldRetry: ({ error }) => error instanceof JobError && error.code === "service_unavailable",
    });
  }

  #callOnce<Answer>(invoke: Invoke<Answer>, traceparent: string | undefined): Promise<Answer> {
    const metadata = this.#metadata();
    if (traceparent !== undefined) metadata.set(TRACEPARENT, traceparent);
    return new Promise((resolve, reject) => {
      const deadline = Date.now() + this.#callTimeoutMs;
      invoke(this.#client, metadata, { deadline }, (error, answer) => {
        if (error !== null) reject(fromServiceError(error));
        else if (answer === undefined) reject(new JobError("server_error", "empty answer"));
        else resolve(answer);
      });
    });
  }

  #metadata(options: { readonly waitForReady?: boolean } = {}): Metadata {
    const metadata = new Metadata(options);
    metadata.set("authorization", `Bearer ${this.#token}`);
    return metadata;
  }
}

/** Connections to the fronts that have callers, opened when first used. */
export interface Reporters {
  /** The front at this address. */
  at(address: string): GrpcReporter;
  close(): Promise<void>;
}

/** Fronts come and go; a connection that was not used for this long is closed, in milliseconds. */
const IDLE_MS = 600_000;
const CHECK_MS = 60_000;

interface Opened {
  readonly reporter: GrpcReporter;
  usedAtMs: number;
}

/** A job that runs asks for its connection at every heartbeat: an idle one has none. */
export function createReporters(open: (address: string) => GrpcReporter): Reporters {
  const opened = new Map<string, Opened>();
  const closeIdle = () => {
    for (const [address, { reporter, usedAtMs }] of opened) {
      if (performance.now() - usedAtMs < IDLE_MS) continue;
      opened.delete(address);
      void reporter.close(); // Nothing of it is awaited by anyone.
    }
  };
  const timer = setInterval(closeIdle, CHECK_MS).unref();
  return {
    at(address) {
      const known = opened.get(address) ?? { reporter: open(address), usedAtMs: 0 };
      known.usedAtMs = performance.now();
      opened.set(address, known);
      return known.reporter;
    },
    async close() {
      clearInterval(timer);
      await Promise.all([...opened.values()].map(({ reporter }) => reporter.close()));
    },
  };
}

import { createHash, timingSafeEqual } from "node:crypto";
import {
  type Metadata,
  ResponderBuilder,
  Server,
  type ServerDuplexStream,
  ServerInterceptingCall,
  type ServerInterceptor,
  ServerListenerBuilder,
  type ServerOptions,
  status,
} from "@grpc/grpc-js";
import { LRUCache } from "lru-cache";
import { toJobError } from "../core/errors.js";
import type { LeaseRef, ProgressReport, Reporter } from "../core/reports.js";
import { type Tracer, UNTRACED } from "../core/tracing.js";
import type { ReportRequest__Output } from "./gen/framemill/v1/ReportRequest.js";
import type { ReportResponse } from "./gen/framemill/v1/ReportResponse.js";
import type { WorkerServiceHandlers } from "./gen/framemill/v1/WorkerService.js";
import type { HealthHandlers } from "./gen/grpc/health/v1/Health.js";
import {
  decodeAnnounceRequest,
  decodeClaimRequest,
  decodeCompleteRequest,
  decodeFailRequest,
  decodeHeartbeatRequest,
  decodeReleaseRequest,
  decodeReportRequest,
  encodeCancellation,
  encodeClaimResponse,
  encodeFailResponse,
  encodeHeartbeatResponse,
  encodeRecordResponse,
  encodeReportResponse,
  type ProgressResult,
  type SequencedReport,
} from "./messages.js";
import {
  createLocalReporter,
  type FrontReporter,
  type LocalReporterOptions,
} from "./local-reporter.js";
import { MAX_MESSAGE_BYTES, proto } from "./proto.js";
import { type Address, bind, shutDown, unary } from "./server.js";
import { toStatus } from "./status.js";
import { traceServed } from "./trace-calls.js";

/**
 * What the front does with each call. A `JobError` travels to the worker with its code. Every one may
 * be repeated with the same arguments and must then give the same answer.
 */
export interface ReportHandlers extends Omit<Reporter, "close"> {
  /**
   * Once for each report, in order, within one worker's stream. `service_unavailable` makes the worker
   * send it again; any other error drops it.
   */
  progress(report: ProgressReport): Promise<ProgressResult>;
}

export interface ReportServerOptions extends Address {
  readonly handlers: ReportHandlers;
  /** Shared secret of workers and front: no call but health is served without it. */
  readonly token: string;
  readonly tracer?: Tracer | undefined;
}

export interface ReportServer {
  readonly port: number;
  /** Tells the worker that streams this job's reports here, if any, that its caller has gone. */
  cancel(jobId: string): void;
  /** The way here for a worker of this process; directives to stop an attempt come back over it. */
  readonly connect: (onDirective: LocalReporterOptions["onDirective"]) => FrontReporter;
  /** Lets running calls finish for 2 s. */
  close(): Promise<void>;
}

type ReportCall = ServerDuplexStream<ReportRequest__Output, ReportResponse>;

/** Who brings an attempt's reports. */
interface Reporting {
  /** The stream; undefined for a worker of this process. */
  readonly call?: ReportCall;
  readonly lease: LeaseRef;
  cancel(): void;
}

/** By job. Its end may be reported to another front: the oldest entries go. */
type Attempts = LRUCache<string, Reporting>;

/** Attempts that are remembered; far more than run at once. */
const REMEMBERED_ATTEMPTS = 10_000;

const SERVER_OPTIONS: ServerOptions = {
  "grpc.max_receive_message_length": MAX_MESSAGE_BYTES,
  "grpc.max_send_message_length": MAX_MESSAGE_BYTES,
  // Finds workers that vanished, so that their streams do not pile up.
  "grpc.keepalive_time_ms": 10_000,
  "grpc.keepalive_timeout_ms": 5_000,
  "grpc.max_concurrent_streams": 1_000,
};

export async function startReportServer(options: ReportServerOptions): Promise<ReportServer> {
  const { token, tracer = UNTRACED } = options;
  // The one nearest to the wire comes first: what is refused there is not traced.
  const guard = createAuthorizer(token);
  const interceptors = tracer === UNTRACED ? [guard] : [guard, traceServed(tracer)];
  const server = new Server({ ...SERVER_OPTIONS, interceptors });
  const streams = new Set<ReportCall>();
  const attempts: Attempts = new LRUCache({ max: REMEMBERED_ATTEMPTS });
  server.addService(
    proto.framemill.v1.WorkerService.service,
    createService(options.handlers, streams, attempts),
  );
  server.addService(proto.grpc.health.v1.Health.service, HEALTH);
  const port = await bind(server, options, "GRPC_PORT");
  return {
    port,
    cancel: (jobId) => attempts.peek(jobId)?.cancel(),
    connect: (onDirective) =>
      createLocalReporter({
        handlers: options.handlers,
        take: async (report) =>
          await takeReport(options.handlers, attempts, report, (lease) => ({
            lease,
            cancel: () => onDirective(lease, "cancel"),
          })),
        forget: (lease) => forget(attempts, lease),
        onDirective,
      }),
    async close() {
      for (const stream of streams) stream.end();
      await shutDown(server);
    },
  };
}

function createService(
  handlers: ReportHandlers,
  streams: Set<ReportCall>,
  attempts: Attempts,
): WorkerServiceHandlers {
  const sequences = new ReportSequences();
  return {
    Claim: unary(async (request) => {
      const { jobId, workerId } = decodeClaimRequest(request);
      return encodeClaimResponse(await handlers.claim(jobId, workerId));
    }),
    Heartbeat: unary(async (request) => {
      const { lease, workerId } = decodeHeartbeatRequest(request);
      return encodeHeartbeatResponse(await handlers.heartbeat(lease, workerId));
    }),
    Complete: unary(async (request, traceparent) => {
      const report = { ...decodeCompleteRequest(request), ...(traceparent && { traceparent }) };
      forget(attempts, report);
      return encodeRecordResponse(await handlers.complete(report));
    }),
    Fail: unary(async (request) => {
      const report = decodeFailRequest(request);
      forget(attempts, report);
      return encodeFailResponse(await handlers.fail(report));
    }),
    Release: unary(async (request) => {
      const report = decodeReleaseRequest(request);
      forget(attempts, report);
      return encodeRecordResponse(await handlers.release(report));
    }),
    Announce: unary(async (request) => await handlers.announce(decodeAnnounceRequest(request))),
    Report(call) {
      streams.add(call);
      const reporting = (lease: LeaseRef): Reporting => ({
        call,
        lease,
        cancel: () => void (call.destroyed || call.write(encodeCancellation(lease))),
      });
      const take = async (report: ProgressReport) =>
        await takeReport(handlers, attempts, report, reporting);
      // Ends in a status, never in a rejection.
      void serveReports(call, take, sequences).finally(() => {
        streams.delete(call);
        for (const [jobId, known] of attempts) if (known.call === call) attempts.delete(jobId);
      });
    },
  };
}

/** One report after the other: the pace of the handler is the pace of the stream. */
async function serveReports(
  call: ReportCall,
  take: (report: ProgressReport) => Promise<ProgressResult>,
  sequences: ReportSequences,
): Promise<void> {
  try {
    for await (const wire of call.iterator({ destroyOnReturn: false })) {
      const message = decodeReportRequest(wire);
      const result = await sequences.take(message, () => take(message.report));
      call.write(encodeReportResponse(message, result));
    }
    call.end();
  } catch (error) {
    if (!call.cancelled) call.emit("error", toStatus(error));
  }
}

/** A report that no repetition can help is dropped: progress is not worth a job. */
async function takeReport(
  handlers: ReportHandlers,
  attempts: Attempts,
  report: ProgressReport,
  reporting: (lease: LeaseRef) => Reporting,
): Promise<ProgressResult> {
  const { jobId, token } = report;
  try {
    const result = await handlers.progress(report);
    // A worker that does not hold the job must not get the cancellation.
    if (result.outcome === "held") attempts.set(jobId, reporting({ jobId, token }));
    return result;
  } catch (error) {
    if (toJobError(error).code === "service_unavailable") throw error;
    return { outcome: "held", cancel: false };
  }
}

function forget(attempts: Attempts, { jobId, token }: LeaseRef): void {
  if (attempts.get(jobId)?.lease.token === token) attempts.delete(jobId);
}

const HEALTH: HealthHandlers = {
  Check(call, callback) {
    const known = ["", "framemill.v1.WorkerService"].includes(call.request.service);
    if (known) callback(null, { status: "SERVING" });
    else callback({ code: status.NOT_FOUND, details: "unknown service" });
  },
};

/** Services a probe may ask without a token. */
const OPEN_PATHS = /^\/grpc\.health\.v1\.Health\//;

/** Refuses every call without the token, before its message is read. */
function createAuthorizer(token: string): ServerInterceptor {
  const expected = digest(`Bearer ${token}`);
  return (method, call) => {
    const listener = new ServerListenerBuilder()
      .withOnReceiveMetadata((metadata, next) => {
        if (OPEN_PATHS.test(method.path) || matches(metadata, expected)) next(metadata);
        else
          call.sendStatus({
            code: status.UNAUTHENTICATED,
            details: "wrong or missing worker token",
          });
      })
      .build();
    return new ServerInterceptingCall(
      call,
      new ResponderBuilder().withStart((next) => next(listener)).build(),
    );
  };
}

/** Digests have one length, so the comparison reveals nothing of the token's. */
function matches(metadata: Metadata, expected: Buffer): boolean {
  return timingSafeEqual(digest(String(metadata.get("authorization")[0] ?? "")), expected);
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}

/**
 * Tells repeated reports from new ones. A worker whose stream was lost sends again what was not
 * acknowledged, and text taken twice would be text shown twice.
 */
class ReportSequences {
  /** Highest sequence taken, by attempt; the longest silent first. */
  readonly #taken = new LRUCache<string, number>({ max: REMEMBERED_ATTEMPTS });

  /** Runs `work` for a new report; a repetition is acknowledged without effect. */
  async take(
    { report, sequence }: SequencedReport,
    work: () => Promise<ProgressResult>,
  ): Promise<ProgressResult> {
    const key = `${report.token}:${report.jobId}`;
    const before = this.#taken.get(key) ?? 0;
    if (sequence <= before) return { outcome: "held", cancel: false };
    this.#taken.set(key, sequence);
    try {
      return await work();
    } catch (error) {
      this.#taken.set(key, before);
      throw error;
    }
  }
}

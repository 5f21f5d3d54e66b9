import {
  InterceptingCall,
  type Interceptor,
  type Metadata,
  ResponderBuilder,
  ServerInterceptingCall,
  type ServerInterceptor,
  ServerListenerBuilder,
  status,
} from "@grpc/grpc-js";
import { isTraceparent, type Span, type SpanKind, type Tracer } from "../core/tracing.js";

/** Metadata that carries the W3C trace context. */
export const TRACEPARENT = "traceparent";

/** A span for each call that belongs to a trace; the span's own context goes on to the server. */
export function traceCalls(tracer: Tracer): Interceptor {
  return (options, nextCall) =>
    new InterceptingCall(nextCall(options), {
      start(metadata, listener, next) {
        const path = options.method_definition.path;
        const span = startSpan(tracer, metadata, { path, kind: "client" });
        if (span === undefined) return next(metadata, listener);
        next(metadata, {
          onReceiveStatus(ended, pass) {
            endSpan(span, ended.code);
            pass(ended);
          },
        });
      },
    });
}

/** The server's side of the same call: its handler finds the span's context in the metadata. */
export function traceServed(tracer: Tracer): ServerInterceptor {
  return ({ path }, call) => {
    let span: Span | undefined;
    const listener = new ServerListenerBuilder()
      .withOnReceiveMetadata((metadata, next) => {
        span = startSpan(tracer, metadata, { path, kind: "server" });
        next(metadata);
      })
      .build();
    const responder = new ResponderBuilder()
      .withStart((next) => next(listener))
      .withSendStatus((ended, next) => {
        if (span !== undefined) endSpan(span, ended.code ?? status.OK);
        next(ended);
      })
      .build();
    return new ServerInterceptingCall(call, responder);
  };
}

/** The trace context that a call came with. */
export function traceparentOf(metadata: Metadata): string | undefined {
  const [found] = metadata.get(TRACEPARENT);
  return isTraceparent(found) ? found : undefined;
}

function startSpan(
  tracer: Tracer,
  metadata: Metadata,
  { path, kind }: { readonly path: string; readonly kind: SpanKind },
): Span | undefined {
  const parent = traceparentOf(metadata);
  if (parent === undefined) return undefined;
  const method = path.slice(1);
  const attributes = { "rpc.system.name": "grpc", "rpc.method": method };
  const span = tracer.start(method, { parent, kind, attributes });
  metadata.set(TRACEPARENT, span.traceparent ?? parent);
  return span;
}

function endSpan(span: Span, code: status): void {
  span.set({ "rpc.response.status_code": status[code] });
  if (code !== status.OK) span.fail(status[code]);
  span.end();
}

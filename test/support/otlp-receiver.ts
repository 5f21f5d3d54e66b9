import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import protobuf from "protobufjs";
import { parseTraces, type TraceSpan } from "#framemill/tracing/read-trace.js";

/** What these tests read of opentelemetry/proto/collector/trace/v1/trace_service.proto. */
const PROTO = `
syntax = "proto3";
message Request { repeated ResourceSpans resource_spans = 1; }
message ResourceSpans { Resource resource = 1; repeated ScopeSpans scope_spans = 2; }
message Resource { repeated KeyValue attributes = 1; }
message ScopeSpans { repeated Span spans = 2; }
message Span {
  bytes trace_id = 1;
  bytes span_id = 2;
  bytes parent_span_id = 4;
  string name = 5;
  fixed64 start_time_unix_nano = 7;
  fixed64 end_time_unix_nano = 8;
  repeated KeyValue attributes = 9;
}
message KeyValue { string key = 1; AnyValue value = 2; }
message AnyValue {
  oneof value {
    string string_value = 1;
    bool bool_value = 2;
    int64 int_value = 3;
    double double_value = 4;
  }
}`;

export interface OtlpReceiver {
  /** As OTEL_EXPORTER_OTLP_ENDPOINT takes it. */
  readonly url: string;
  /** All spans so far. */
  spans(): TraceSpan[];
  /** Every byte that came, for what must not be among them. */
  received(): Buffer;
  close(): Promise<void>;
}

/** A collector's HTTP side: takes protobuf at /v1/traces. */
export async function startOtlpReceiver(): Promise<OtlpReceiver> {
  const type = protobuf.parse(PROTO).root.lookupType("Request");
  const bodies: Buffer[] = [];
  const server = createServer((request, response) => {
    const pieces: Buffer[] = [];
    request.on("data", (piece: Buffer) => pieces.push(piece));
    request.on("end", () => {
      const isTraces = request.url === "/v1/traces" && request.method === "POST";
      if (isTraces) bodies.push(Buffer.concat(pieces));
      response.writeHead(isTraces ? 200 : 404).end();
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    received: () => Buffer.concat(bodies),
    spans() {
      const lines = bodies.map((body) =>
        JSON.stringify(type.toObject(type.decode(body), { longs: String }), toHex),
      );
      return parseTraces(lines.join("\n"));
    },
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

/** Ids are hexadecimal in OTLP's JSON. A Buffer is an object by the time a replacer sees it. */
function toHex(_key: string, value: unknown): unknown {
  const isBuffer = typeof value === "object" && value !== null && "data" in value;
  return isBuffer && Array.isArray(value.data) ? Buffer.from(value.data).toString("hex") : value;
}

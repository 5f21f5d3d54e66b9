/** What leaves for the caller: an object, or bytes of a media type, whole or as they are made. */
export type Answer =
  | { readonly json: Record<string, unknown> }
  | {
      readonly mediaType: string;
      readonly headers?: Readonly<Record<string, string>>;
      readonly body: string | Uint8Array | AsyncIterable<string | Uint8Array>;
    };

export const EVENT_STREAM = "text/event-stream; charset=utf-8";

/** One server-sent event; `event` names its type where the reader distinguishes types. */
export function serverSentEvent(data: unknown, event?: string): string {
  const name = event === undefined ? "" : `event: ${event}\n`;
  return `${name}data: ${typeof data === "string" ? data : JSON.stringify(data)}\n\n`;
}

/** Data of server-sent events as they come; comments and names are passed over. */
export async function* eventData(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  let unread = "";
  for await (const piece of texts(body)) {
    unread += piece;
    const events = unread.split("\n\n");
    unread = events.pop() ?? "";
    for (const event of events) {
      const data = /^data: ?(.*)$/m.exec(event)?.[1];
      if (data !== undefined && data !== "[DONE]") yield data;
    }
  }
}

/** Not every browser can iterate over a stream itself. */
async function* texts(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield decoder.decode(value, { stream: true });
    }
  } finally {
    await reader.cancel();
  }
}

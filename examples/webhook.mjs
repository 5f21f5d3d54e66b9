// Takes the service's webhooks and believes only those that it signed. The project's secret comes from
// `npm run framemill -- projects webhook-secret PROJECT`:
//
//   WEBHOOK_SECRET=whsec_… node examples/webhook.mjs [PORT]
//
// Then create a video or a piece of music with `webhook_url`. On one machine the service must have been
// started with WEBHOOK_ALLOW_PRIVATE=true: it calls no private address otherwise.
import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import OpenAI from "openai";

const { webhooks } = new OpenAI({
  apiKey: "not used here",
  webhookSecret: process.env.WEBHOOK_SECRET,
});

const server = createServer(async (request, response) => {
  try {
    const event = await webhooks.unwrap(await text(request), request.headers);
    process.stdout.write(`${event.type} ${event.data.id}\n`);
    response.writeHead(204).end(); // answer first, download afterwards: the call waits 10 s at most
  } catch {
    response.writeHead(400).end(); // a wrong signature, or a time stamp of more than 5 minutes ago
  }
});
server.listen(Number(process.argv[2] ?? 8090), "127.0.0.1", () => {
  process.stdout.write(`listening on port ${server.address().port}\n`);
});

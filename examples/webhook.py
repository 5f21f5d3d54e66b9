"""Takes the service's webhooks and believes only those that it signed.

The project's secret comes from `npm run framemill -- projects webhook-secret PROJECT`:

    WEBHOOK_SECRET=whsec_… python3 examples/webhook.py [PORT]

Then create a video or a piece of music with `webhook_url`. On one machine the service must have been
started with WEBHOOK_ALLOW_PRIVATE=true: it calls no private address otherwise.
"""

import os
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer

from openai import InvalidWebhookSignatureError, OpenAI

client = OpenAI(api_key="not used here", webhook_secret=os.environ["WEBHOOK_SECRET"])


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        try:
            event = client.webhooks.unwrap(body, dict(self.headers))
        except (InvalidWebhookSignatureError, ValueError):
            self.answer(400)  # a wrong signature, or a time stamp of more than 5 minutes ago
            return
        print(event.type, event.data.id, flush=True)
        self.answer(204)  # answer first, download afterwards: the call waits 10 s at most

    def answer(self, status: int) -> None:
        self.send_response(status)
        self.end_headers()


server = HTTPServer(("127.0.0.1", int(sys.argv[1] if len(sys.argv) > 1 else 8090)), Receiver)
print(f"listening on port {server.server_port}", flush=True)
server.serve_forever()

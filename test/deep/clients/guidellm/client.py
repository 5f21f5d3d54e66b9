"""GuideLLM on every kind of request that it has and the service serves."""

import importlib.metadata
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

# A folder of the model's own tokenizer; nothing is asked of a hub.
TOKENIZER = os.environ["TOKENIZER"]
os.environ["HF_HUB_OFFLINE"] = "1"
ORIGIN = os.environ["OPENAI_BASE_URL"].removesuffix("/v1")
KEY = os.environ["OPENAI_API_KEY"]
REQUESTS = 4
facts = {"version": importlib.metadata.version("guidellm")}
out = Path(tempfile.mkdtemp())


def run(name, model, request_format, data):
    """Of one run: whether requests were answered, requests that failed, tokens of an answer."""
    path = out / f"{name.replace(' ', '-')}.json"
    service = f"kind=openai_http,target={ORIGIN},api_key={KEY},model={model}"
    done = subprocess.run(
        [
            Path(sys.executable).with_name("guidellm"),
            "run",
            *("--backend", f"{service},request_format={request_format}"),
            *("--tokenizer", f"kind=hf_auto,model={TOKENIZER}"),
            *("--profile", "kind=concurrent,streams=2"),
            *("--constraint", f"kind=max_requests,count={REQUESTS}"),
            *("--data", f"kind=synthetic_text,prompt_tokens=40,{data}"),
            *("--output", f"kind=json,path={path}"),
            "--disable-console-interactive",
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if done.returncode != 0:
        sys.exit(f"{name}: {done.stdout[-4000:]}")
    [benchmark] = json.loads(path.read_text())["benchmarks"]
    metrics = benchmark["metrics"]
    totals = metrics["request_totals"]
    # Seen on a busy machine: it counted one answer fewer than it asked for, and no failure.
    answered = totals["successful"] >= REQUESTS - 1
    facts[name] = [answered, totals["errored"] + totals["incomplete"]]
    if "output_tokens" in data:
        facts[name].append(metrics["output_token_count"]["successful"]["mean"])


run("chat", "service-chat-1", "/v1/chat/completions", "output_tokens=12")
run("chat in turns", "service-chat-1", "/v1/chat/completions", "output_tokens=12,turns=2")
run("responses", "service-chat-1", "/v1/responses", "output_tokens=12")
run("completions", "service-chat-1", "/v1/completions", "output_tokens=12")
run("embeddings", "service-embed-1", "/v1/embeddings", "turns=1")
print(json.dumps(facts))

"""AIPerf on every kind of endpoint that it has and the service serves."""

import importlib.metadata
import json
import os
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path

# A folder of the model's own tokenizer; nothing is asked of a hub.
TOKENIZER = os.environ["TOKENIZER"]
os.environ["HF_ENDPOINT"] = "http://127.0.0.1:9"
ORIGIN = os.environ["OPENAI_BASE_URL"].removesuffix("/v1")
KEY = os.environ["OPENAI_API_KEY"]
LENGTHS = ["--synthetic-input-tokens-mean", "40", "--output-tokens-mean", "12"]
WHOLE = ["--extra-inputs", "ignore_eos:true"]
EXACT = ["--extra-inputs", "temperature:0"]
COUNTED = ["--use-server-token-count"]  # a text that is tokenized again may have one less
REQUESTS = ["--concurrency", "2", "--request-count", "4"]
facts = {"version": importlib.metadata.version("aiperf")}
out = Path(tempfile.mkdtemp())


def profile(name, model, kind, *options, tokenizer=True):
    """Of one run: requests that were answered, requests that failed, tokens of an answer."""
    folder = out / name.replace(" ", "-")
    words = ["profile", "--url", ORIGIN, "--api-key", KEY, "-m", model, "--endpoint-type", kind]
    words += ["--tokenizer", TOKENIZER] if tokenizer else []
    words += ["--random-seed", "1", "--ui", "none", "--no-gpu-telemetry", "--no-server-metrics"]
    run = subprocess.run(
        [Path(sys.executable).with_name("aiperf"), *words, "--artifact-dir", folder, *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    export = folder / "profile_export_aiperf.json"
    if not export.exists():
        sys.exit(f"{name}: {run.stdout[-4000:]}")
    found = json.loads(export.read_text())
    value = lambda name: found.get(name, {}).get("avg", 0)
    facts[name] = [value("request_count"), value("error_request_count")]
    if "--output-tokens-mean" in options:
        facts[name].append(value("output_sequence_length"))


chat = ["service-chat-1", "chat"]
profile("chat", *chat, "--streaming", *LENGTHS, *WHOLE, *COUNTED, *REQUESTS)
turns = ["--conversation-num", "2", "--conversation-turn-mean", "2", "--concurrency", "2"]
each_chunk = [*COUNTED, "--per-chunk-usage"]
profile("chat in turns", *chat, "--streaming", *LENGTHS, *WHOLE, *turns, *each_chunk)
responses = ["service-chat-1", "responses"]
# It looks for usage in response.completed alone, and answers that are cut end with response.incomplete.
profile("responses", *responses, "--streaming", *LENGTHS, *WHOLE, *EXACT, *REQUESTS)
completions = ["service-chat-1", "completions"]
profile("completions", *completions, "--streaming", *LENGTHS, *WHOLE, *COUNTED, *REQUESTS)
profile("embeddings", "service-embed-1", "embeddings", *LENGTHS[:2], *REQUESTS)
lengths = ["--rankings-passages-mean", "3", "--rankings-passages-prompt-token-mean", "40"]
query = ["--rankings-query-prompt-token-mean", "10"]
profile("rankings", "service-rerank-1", "cohere-rankings", *lengths, *query, *REQUESTS)
few = ["--synthetic-input-tokens-mean", "10", "--concurrency", "1", "--request-count"]
low = ["--extra-inputs", "quality:low"]
profile("images", "service-image-1", "image-generation", *few, "2", *low)
fast = ["--extra-inputs", "quality:fast", "--extra-inputs", "seconds:4"]
clip = [*few, "1", *fast, "--download-video-content"]
profile("videos", "service-motion-1", "video-generation", *clip)

spoken = urllib.request.Request(
    f"{ORIGIN}/v1/audio/speech",
    json.dumps(
        {
            "model": "service-voice-1",
            "voice": "alloy",
            "input": "A red boat sails across the ocean.",
            "response_format": "wav",
        }
    ).encode(),
    {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"},
)
(out / "speech.wav").write_bytes(urllib.request.urlopen(spoken).read())
(out / "sounds.jsonl").write_text(json.dumps({"audio": str(out / "speech.wav")}) + "\n")
sounds = ["--input-file", out / "sounds.jsonl", "--custom-dataset-type", "single_turn"]
profile(
    "transcriptions",
    *("service-transcribe-1", "audio-transcription"),
    *(*sounds, "--concurrency", "1", "--request-count", "2"),
    tokenizer=False,
)
print(json.dumps(facts))

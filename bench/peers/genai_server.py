"""
python genai_server.py MODEL_FOLDER PORT THREADS: chat completions over onnxruntime-genai's own Engine, which
batches continuously. One thread drives the engine; requests stream what it tells of their turns.
"""

import asyncio
import json
import sys
import threading
from pathlib import Path
from queue import Queue

import onnxruntime_genai as og
import uvicorn
from fastapi import FastAPI, Request
from fastapi.responses import StreamingResponse

import parent

folder, port, threads = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
STREAMS = 32

config = og.Config(folder)
options = {"session_options": {"intra_op_num_threads": threads}}
batching = {"engine": {"static_batching": {"max_batch_size": STREAMS}}}
config.overlay(json.dumps({"model": {"decoder": options}} | batching))
model = og.Model(config)
tokenizer = og.Tokenizer(model)
template = json.loads(Path(folder, "tokenizer_config.json").read_text())["chat_template"]
asked = Queue()


def drive():
    engine, turns = og.Engine(model), {}
    events = engine.create_event_buffer(4 * STREAMS)
    while True:
        while not turns or not asked.empty():
            ids, length, tell = asked.get()
            request = engine.create_request()
            turn = og.TurnOptions(request)
            turn.set_do_sample(False)
            turn.set_max_generated_tokens(length)
            request.begin_turn(ids, turn)
            turns[id(request)] = (request, tokenizer.create_stream(), tell)
        for event in engine.run(events):
            request, stream, tell = turns[id(event.request)]
            flags = int(event.flags)
            if flags & int(og.EngineEventFlags.FAILED):
                tell(None)
                raise RuntimeError(f"the engine failed: {event.error_code}")
            if flags & int(og.EngineEventFlags.TOKEN):
                tell(stream.decode(event.token))
            if flags & int(og.EngineEventFlags.TURN_FINISHED):
                tell(None)
                del turns[id(event.request)]
                request.close()


app = FastAPI()


@app.post("/v1/chat/completions")
async def complete(request: Request):
    body = await request.json()
    text = tokenizer.apply_chat_template(json.dumps(body["messages"]), template_str=template, add_generation_prompt=True)
    loop, pieces = asyncio.get_running_loop(), asyncio.Queue()
    tell = lambda piece: loop.call_soon_threadsafe(pieces.put_nowait, piece)
    asked.put((tokenizer.encode(text), body["max_tokens"], tell))

    async def stream():
        while (piece := await pieces.get()) is not None:
            delta = {"choices": [{"index": 0, "delta": {"content": piece}}]}
            yield f"data: {json.dumps(delta)}\n\n"
        yield "data: [DONE]\n\n"

    return StreamingResponse(stream(), media_type="text/event-stream")


@app.get("/health")
def health():
    return {"status": "ok"}


parent.end_with_it()
threading.Thread(target=drive, daemon=True).start()
uvicorn.run(app, host="127.0.0.1", port=port, log_level="warning")

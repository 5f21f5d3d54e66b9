"""What `vllm bench serve` sends, with the library that it sends it by: vLLM itself brings gigabytes of CUDA.

From vllm/benchmarks/lib/endpoint_request_func.py at 02cfb53 (2026-11), backends openai, openai-chat,
openai-embeddings and vllm-rerank, as `--dataset-name random --ignore-eos` fills them.
"""

import asyncio
import json
import os

import aiohttp

BASE = os.environ["OPENAI_BASE_URL"]
HEADERS = {"Authorization": f"Bearer {os.environ['OPENAI_API_KEY']}"}
PROMPT = "A red boat sails across the ocean at sunset"
STREAMED = {"stream": True, "stream_options": {"include_usage": True}, "ignore_eos": True}
facts = {"version": "02cfb53"}


async def stream(session, path, payload, text_of):
    """Chunks with text, and the usage at the end, as the bench reads them."""
    texts, usage = [], None
    async with session.post(f"{BASE}/{path}", json=payload, headers=HEADERS) as response:
        assert response.status == 200, await response.text()
        async for line in response.content:
            data = line.decode().strip().removeprefix("data: ")
            if not data or data == "[DONE]":
                continue
            chunk = json.loads(data)
            if chunk.get("choices"):
                texts.append(text_of(chunk["choices"][0]))
            elif chunk.get("usage"):
                usage = chunk["usage"]
    return [len(texts) > 1, usage["completion_tokens"], usage["prompt_tokens"] > 0]


async def post(session, path, payload):
    async with session.post(f"{BASE}/{path}", json=payload, headers=HEADERS) as response:
        assert response.status == 200, await response.text()
        return await response.json()


async def main():
    async with aiohttp.ClientSession() as session:
        model = {"model": "service-chat-1"}
        plain = {**model, "prompt": PROMPT, "repetition_penalty": 1.0, "max_tokens": 12}
        payload = {**plain, "logprobs": None, **STREAMED}
        facts["openai"] = await stream(session, "completions", payload, lambda one: one["text"])
        content = [{"type": "text", "text": PROMPT}]
        messages = {"messages": [{"role": "user", "content": content}]}
        payload = {**model, **messages, "max_completion_tokens": 12, **STREAMED}
        facts["openai-chat"] = await stream(
            session, "chat/completions", payload, lambda one: one["delta"].get("content")
        )
        cut = {"truncate_prompt_tokens": -1}
        vectors = await post(
            session, "embeddings", {"model": "service-embed-1", "input": PROMPT, **cut}
        )
        facts["openai-embeddings"] = [len(vectors["data"]), vectors["usage"]["prompt_tokens"] > 0]
        pairs = {"query": "a boat", "documents": ["hot soup", "a red boat"]}
        ranked = await post(session, "rerank", {"model": "service-rerank-1", **pairs, **cut})
        facts["vllm-rerank"] = [ranked["results"][0]["index"], "usage" in ranked]


asyncio.run(main())
print(json.dumps(facts))

"""What vLLM-Omni's diffusion bench sends, with the library that it sends it by.

From benchmarks/diffusion/backends.py at 0780e45 (2026-11), backends v1/videos and v1/images/generations. A form
of words alone leaves aiohttp as application/x-www-form-urlencoded, one with a picture as multipart.
"""

import asyncio
import base64
import io
import json
import os
import struct
import zlib

import aiohttp

BASE = os.environ["OPENAI_BASE_URL"]
CLIP = {
    "prompt": "a red boat",
    "height": 720,
    "width": 1280,
    "num_frames": 96,
    "num_inference_steps": 4,
    "seed": 42,
    "fps": 24,
    "model": "service-motion-1",
}
facts = {"version": "0780e45"}


def picture():
    """A blue PNG of 64 by 64 pixels."""
    piece = lambda kind, data: (
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    )
    rows = (b"\0" + b"\0\0\xff" * 64) * 64
    head = piece(b"IHDR", struct.pack(">IIBBBBB", 64, 64, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + piece(b"IDAT", zlib.compress(rows)) + piece(b"IEND", b"")


async def video(session, image=None):
    form = aiohttp.FormData()
    for name, value in CLIP.items():
        form.add_field(name, str(value))
    if image is not None:
        form.add_field(
            "input_reference", io.BytesIO(image), filename="boat.png", content_type="image/png"
        )
    async with session.post(f"{BASE}/videos", data=form) as response:
        assert response.status == 200, await response.text()
        job = await response.json()
    while job["status"] not in ("completed", "failed"):
        await asyncio.sleep(2)
        async with session.get(f"{BASE}/videos/{job['id']}") as response:
            assert response.status == 200, await response.text()
            job = await response.json()
    return [job["status"], job["seconds"], job["size"]]


async def main():
    async with aiohttp.ClientSession() as session:
        facts["videos"] = await video(session)
        facts["videos from a picture"] = await video(session, picture())
        payload = {
            "model": "service-image-1",
            "prompt": "a red boat",
            "n": 1,
            "size": "1024x1024",
            "response_format": "b64_json",
            "seed": 42,
            "num_inference_steps": 4,
        }
        headers = {"Content-Type": "application/json", "Authorization": "Bearer EMPTY"}
        url = f"{BASE}/images/generations"
        async with session.post(url, json=payload, headers=headers) as response:
            assert response.status == 200, await response.text()
            [made] = (await response.json())["data"]
        facts["images"] = base64.b64decode(made["b64_json"])[1:4].decode()


asyncio.run(main())
print(json.dumps(facts))

"""
python clip.py MODEL_FOLDER OUT.mp4 THREADS FFMPEG: what someone would write on the starter video model's graphs
with onnxruntime, numpy and ffmpeg. For each line {"tier", "seconds", "prompt", "seed"} that comes in, makes the
clip and prints {"seconds"}: one decoder session a thread, frames go into ffmpeg as they come.
"""

import json
import math
import re
import subprocess
import sys
import time
import wave
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import onnxruntime

folder, out, threads, ffmpeg = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
model = json.load(open(f"{folder}/model.json"))
shapes, words, sampler = model["shapes"], model["tokenizer"], model["sampler"]


def session(name, threads):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    return onnxruntime.InferenceSession(f"{folder}/{name}.onnx", options, ["CPUExecutionProvider"])


ROLES = ("text-encoder", "denoiser", "canvas-decoder", "scene-decoder", "sound")
graphs = {name: session(name, threads) for name in ROLES}
decoders = [session("frame-decoder", 1) for _ in range(threads)]


def run(graph, feeds):
    return dict(zip([output.name for output in graph.get_outputs()], graph.run(None, feeds)))


def hashed(text):
    value = 0x811C9DC5
    for byte in text.encode():
        value = ((value ^ byte) * 0x01000193) & 0xFFFFFFFF
    return value


def word_ids(text):
    ids, n = np.zeros((words["words"], words["idsPerWord"]), np.int64), words["gram"]
    for row, word in enumerate(re.findall(r"[^\W_]+", text.lower())[: words["words"]]):
        marked = f"<{word}>"
        pieces = [f"w:{word}"] + [marked[i : i + n] for i in range(max(1, len(marked) - n + 1))]
        for column, piece in enumerate(pieces[: words["idsPerWord"]]):
            ids[row, column] = 1 + hashed(piece) % (words["buckets"] - 1)
    return ids


def noise(seed, count):
    """A Weyl sequence through a 32-bit finaliser, then Box and Muller: the numbers of Framemill's seeds."""
    with np.errstate(over="ignore"):
        state = np.uint32(seed & 0xFFFFFFFF) + np.arange(1, count + count % 2 + 1, dtype=np.uint32) * np.uint32(0x9E3779B9)
        mixed = (state ^ (state >> np.uint32(16))) * np.uint32(0x21F0AAAD)
        mixed = (mixed ^ (mixed >> np.uint32(15))) * np.uint32(0x735A2D97)
    uniform = (mixed ^ (mixed >> np.uint32(15))).astype(np.float64) / 2**32
    radius, angle = np.sqrt(-2 * np.log(1 - uniform[0::2])), 2 * np.pi * uniform[1::2]
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1).reshape(-1)[:count].astype(np.float32)


def even(value):
    return 2 * math.floor(value / 2 + 0.5)


def centres(count, extent):
    return ((np.arange(count) + 0.5) / count * extent).astype(np.float32)


def denoise(states, seed, seconds):
    tokens, channels = shapes["stillTokens"] + seconds * shapes["latentsPerSecond"], shapes["channels"]
    x, steps, shift = noise(seed, tokens * channels).reshape(tokens, channels), sampler["steps"], sampler["shift"]
    sigmas = [shift * t / (1 + (shift - 1) * t) for t in (1 - i / steps for i in range(steps + 1))]
    for i in range(steps):
        feeds = {"sample": np.stack([x, x]), "timestep": np.full(2, sigmas[i], np.float32), "encoder_hidden_states": states}
        wanted, unwanted = run(graphs["denoiser"], feeds)["velocity"]
        guidance = 1 + (sampler["guidance"] - 1) * (sampler["firstStepGuidanceFraction"] if i == 0 else 1)
        x = (x + (sigmas[i + 1] - sigmas[i]) * (unwanted + np.float32(guidance) * (wanted - unwanted))).astype(np.float32)
    return x[None]


def write_sound(states, seed, seconds):
    count, rate = seconds * shapes["sampleRateHz"], shapes["sampleRateHz"]
    feeds = {"encoder_hidden_states": states[:1], "noise": noise(seed + 0x500D, 2 * count).reshape(1, 2, count)}
    pcm = run(graphs["sound"], feeds)["waveform"].reshape(2, count)
    with wave.open(f"{out}.wav", "wb") as file:
        file.setparams((2, 2, rate, 0, "NONE", ""))
        file.writeframes((np.clip(pcm.T, -1, 1) * 32767).astype("<i2").tobytes())


def start_encoder(width, height, sound):
    before, after = (["-i", f"{out}.wav"], ["-c:a", "aac", "-b:a", "192k", "-map", "1:a:0"]) if sound else ([], [])
    raw = ["-f", "rawvideo", "-pix_fmt", "yuv420p", "-s", f"{width}x{height}", "-framerate", str(shapes["frameRate"])]
    x264 = ["-c:v", "libx264", "-preset", "veryfast", "-crf", "20", "-g", "48", "-pix_fmt", "yuv420p"]
    command = [ffmpeg, "-v", "error", "-y", *raw, "-i", "pipe:0", *before, "-map", "0:v:0", *after, *x264]
    return subprocess.Popen([*command, "-movflags", "+faststart", out], stdin=subprocess.PIPE)


def windows_of(latents, width, height, seconds):
    """Frames of the clip, window by window, each decoded in a thread of its own."""
    frames, rate, size = seconds * shapes["frameRate"], shapes["frameRate"], shapes["windowFrames"]
    scene = run(graphs["scene-decoder"], {"latents": latents, "drift": np.zeros(1, np.float32)})
    zoom = max(1.0, float(scene["cameras"].reshape(-1, 3)[:, 2].max()))
    rows, columns, period = even(height * zoom), even(width * zoom), round(shapes["tilePeriod"] * height)
    tall, wide = height + period, width + period
    axes = {"rows": centres(rows, 1), "columns": centres(columns, 16 / 9),
        "tile_rows": centres(tall, tall / height), "tile_columns": centres(wide, wide / height)}  # fmt: skip
    canvas = run(graphs["canvas-decoder"], {"latents": latents} | axes)
    looks, none = canvas["looks"].reshape(3, 6), np.zeros((1, 1), np.uint8)
    bands = canvas["bands"].reshape(2, rows, columns)
    still = {"luma": canvas["luma"].reshape(1, 1, rows, columns), "looks": looks,
        "chroma": canvas["chroma"].reshape(1, 2, rows // 2, columns // 2),
        **{f"band_{i}": bands[i] if looks[i, 5] > 0 else none for i in (0, 1)},
        "tile": canvas["tile"].reshape(tall, wide) if looks[2, 5] > 0 else none,
        "sprite": scene["sprite"].reshape(8, 4, 128, 128), "size": np.array([height, width], np.int64)}  # fmt: skip
    per_frame = {"cameras": (3,), "transforms": (2, 3), "sprite_weights": (8,), "shadow_transforms": (2, 3), "shadow_strengths": (1,)}

    def shifts(frame):
        moved = lambda look, axis, scale, cycle: even(-float(looks[look, axis]) * frame / rate * scale) % cycle
        return [moved(0, 0, rows, columns), moved(1, 0, rows, columns), moved(2, 1, height, period), moved(2, 0, height, period)]

    def decode(index, first, last):
        moving = {name: scene[name].reshape(frames, *dims)[first:last] for name, dims in per_frame.items()}
        moving["shifts"] = np.array([shifts(frame) for frame in range(first, last)], np.int64)
        return run(decoders[index % threads], still | moving)["frames"]

    spans = [(i, first, min(first + size, frames)) for i, first in enumerate(range(0, frames, size))]
    with ThreadPoolExecutor(threads) as pool:
        pending = [pool.submit(decode, *span) for span in spans[: threads + 1]]
        for index in range(len(spans)):
            yield pending[index].result()
            pending[index] = None
            if index + threads + 1 < len(spans):
                pending.append(pool.submit(decode, *spans[index + threads + 1]))


def make_clip(tier, seconds, prompt, seed):
    width, height = (1920, 1080) if tier == "high" else (1280, 720)
    ids = np.stack([word_ids(prompt), word_ids("")])
    states = run(graphs["text-encoder"], {"input_ids": ids})["last_hidden_state"]
    latents = denoise(states, seed, seconds)
    if tier == "high":
        write_sound(states, seed, seconds)
    encoder = start_encoder(width, height, tier == "high")
    for frames in windows_of(latents, width, height, seconds):
        encoder.stdin.write(frames)
    encoder.stdin.close()
    assert encoder.wait() == 0


print(json.dumps({"ready": True}), flush=True)
for line in sys.stdin:
    started = time.time()
    make_clip(**json.loads(line))
    print(json.dumps({"seconds": time.time() - started}), flush=True)

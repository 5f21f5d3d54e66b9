"""Compares every exported graph with torch."""

import numpy as np
import torch

from .canvas_decoder import CanvasDecoder
from .painter import centres
from .reference import frame_reference, scene_reference
from .sample import Sampler
from .shapes import CHANNELS, STILL_COUNT
from .sound_synthesis import SoundModel
from .tokenizer import tokenize

TOLERANCE = 1e-3
PROMPTS = ("a red boat sails across the ocean at sunset, zoom in", "a bird in the city in the rain")


def check_package(package, parts) -> dict[str, float]:
    """Largest differences; planes and frames in 8-bit steps. Raises when one is too large."""
    torch.manual_seed(0)
    sampler = Sampler(package)
    differences = {
        "text-encoder": check_text(sampler, parts["text-encoder"]),
        "denoiser": check_denoiser(sampler, parts["denoiser"]),
        "image-encoder": check_image_encoder(sampler, parts["image-encoder"]),
        "sound": check_sound(sampler, parts["sound"]),
        **check_decoders(sampler, parts),
    }
    steps = {name: value for name, value in differences.items() if name.endswith("steps")}
    rest = {name: value for name, value in differences.items() if name not in steps}
    if max(rest.values()) > TOLERANCE or max(steps.values()) > 1:
        raise SystemExit(f"parity failed: {differences}")
    return differences


def largest(given, wanted) -> float:
    """Largest absolute difference."""
    return float(np.abs(np.asarray(given, np.float64) - np.asarray(wanted, np.float64)).max())


def check_text(sampler, encoder):
    ids = np.stack([tokenize(text) for text in (*PROMPTS, "")])
    given, wanted = sampler.run("text-encoder", {"input_ids": ids}), encoder(torch.from_numpy(ids))
    return max(map(largest, given, wanted))


def check_denoiser(sampler, denoiser):
    """Two clip lengths; slots of real prompts, since random ones lie far outside."""
    worst = 0.0
    slots = torch.from_numpy(np.concatenate([sampler.slots(prompt) for prompt in PROMPTS]))
    for length in (8, 20):
        sample, timestep = torch.randn(2, STILL_COUNT + length, CHANNELS), torch.tensor([0.9, 0.3])
        feeds = {"sample": sample, "timestep": timestep, "encoder_hidden_states": slots}
        given = sampler.run("denoiser", {name: value.numpy() for name, value in feeds.items()})[0]
        worst = max(worst, largest(given, denoiser(sample, timestep, slots)))
    return worst


def check_image_encoder(sampler, encoder):
    pixels = torch.rand(1, 3, 90, 160) * 2 - 1
    return largest(sampler.run("image-encoder", {"pixels": pixels.numpy()})[0], encoder(pixels))


def check_sound(sampler, controller):
    """A second of waveform; later ones differ more, since phases add up rounding errors."""
    slots, noise = torch.from_numpy(sampler.slots(PROMPTS[0])), torch.randn(1, 2, 48000)
    given = sampler.run("sound", {"encoder_hidden_states": slots.numpy(), "noise": noise.numpy()})[0]
    return largest(given, SoundModel(controller).eval()(slots, noise).detach())


def check_decoders(sampler, parts):
    result = {}
    for number, prompt in enumerate(PROMPTS):
        latents = sampler.latents(prompt)
        feeds = {"latents": latents, "drift": np.array([0.09], np.float32)}
        given = sampler.run("scene-decoder", feeds)
        wanted = scene_reference(torch.from_numpy(latents), parts["scene-codec"], parts["sprite-codec"], 0.09)
        names = ("sprite", "transforms", "weights", "cameras", "shadows", "shadow strengths")
        result |= {f"scene-decoder {n} {number}": largest(g, w) for n, g, w in zip(names, given, wanted)}
        height, width = ((720, 1280), (1080, 1920))[number]
        result[f"canvas-decoder {number} steps"] = check_canvas(sampler, parts, latents)
        fixed, moving = sampler.clip(latents, (height, width))
        feeds = fixed | {name: value[13:17] for name, value in moving.items()}
        feeds["size"] = np.array((height, width), np.int64)
        frames = sampler.run("frame-decoder", feeds)[0]
        result[f"frame-decoder {number} steps"] = largest(frames, frame_reference(feeds).round().clamp(0, 255))
    return result


def check_canvas(sampler, parts, latents):
    """A small canvas: every plane, in 8-bit steps."""
    rows, columns = centres(180, 320)
    places = [rows, columns, (torch.arange(300) + 0.5) / 180, (torch.arange(440) + 0.5) / 180]
    names = ("rows", "columns", "tile_rows", "tile_columns")
    feeds = {"latents": latents} | {name: place.numpy() for name, place in zip(names, places)}
    wanted = CanvasDecoder(parts["scene-codec"])(torch.from_numpy(latents), *places)
    given = sampler.run("canvas-decoder", feeds)
    return max(largest(g, w) for g, w in zip(given[:4], wanted[:4]))

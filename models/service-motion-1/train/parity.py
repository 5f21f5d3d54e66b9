"""Compares every exported graph with torch."""

import numpy as np
import torch

from .picture_graph import still_latents
from .reference import frame_reference, scene_reference
from .sample import Sampler, keyframe_blend
from .shapes import CHANNELS, TOKENS
from .sound_synthesis import SoundModel
from .tokenizer import tokenize

TOLERANCE = 1e-3
PROMPTS = ("a red boat sails across the ocean at sunset", "a bird in the forest in the rain")


def check_package(package, parts) -> dict[str, float]:
    """Largest differences; frames in 8-bit steps. Raises when one is too large."""
    torch.manual_seed(0)
    sampler = Sampler(package)
    differences = {
        "text-encoder": check_text(sampler, parts["text-encoder"]),
        "denoiser": check_denoiser(sampler, parts["denoiser"]),
        "image-encoder": check_image_encoder(sampler, parts["background-codec"]),
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
    return largest(sampler.run("text-encoder", {"input_ids": ids})[0], encoder(torch.from_numpy(ids)))


def check_denoiser(sampler, denoiser):
    """Both clip lengths; slots of real prompts, since random ones lie far outside."""
    worst = 0.0
    slots = torch.from_numpy(np.concatenate([sampler.slots(prompt) for prompt in PROMPTS]))
    for length in (8, 20):
        sample, timestep = torch.randn(2, length, TOKENS, CHANNELS), torch.tensor([0.9, 0.3])
        feeds = {"sample": sample, "timestep": timestep, "encoder_hidden_states": slots}
        given = sampler.run("denoiser", {name: value.numpy() for name, value in feeds.items()})[0]
        worst = max(worst, largest(given, denoiser(sample, timestep, slots)))
    return worst


def check_image_encoder(sampler, codec):
    pixels = torch.rand(1, 3, 96, 160) * 2 - 1
    given = sampler.run("image-encoder", {"pixels": pixels.numpy()})[0]
    return largest(given, still_latents(codec, pixels))


def check_sound(sampler, controller):
    """A second of waveform; later ones differ more, since phases add up rounding errors."""
    slots, noise = torch.from_numpy(sampler.slots(PROMPTS[0])), torch.randn(1, 2, 48000)
    given = sampler.run("sound", {"encoder_hidden_states": slots.numpy(), "noise": noise.numpy()})[0]
    return largest(given, SoundModel(controller).eval()(slots, noise).detach())


def check_decoders(sampler, parts):
    latents = sampler.latents(PROMPTS[0])
    given = sampler.run("scene-decoder", {"latents": latents})
    wanted = scene_reference(torch.from_numpy(latents), parts["background-codec"], parts["sprite-codec"])
    names = ("keyframes", "sprite", "transforms", "sprite weights")
    result = {f"scene-decoder {n}": largest(g, w) for n, g, w in zip(names, given, wanted)}
    for size in ((720, 1280), (1080, 1920)):
        first, blend = keyframe_blend(13, 17, len(given[0]))
        feeds = {
            "keyframes": given[0][first : first + blend.shape[1]],
            "sprite": given[1],
            "transforms": given[2][13:17],
            "sprite_weights": given[3][13:17],
            "keyframe_weights": blend,
            "size": np.array(size, np.int64),
        }
        frames = sampler.run("frame-decoder", feeds)[0]
        wanted_frames = frame_reference(parts["refiner"], feeds).round()
        result[f"frame-decoder {size[0]} steps"] = largest(frames, wanted_frames)
    return result

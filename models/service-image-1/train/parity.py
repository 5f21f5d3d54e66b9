"""Compares every exported graph with torch."""

import numpy as np
import torch
from motion.tokenizer import tokenize

from .sample import Sampler
from .shapes import CHANNELS

TOLERANCE = 1e-3
PROMPTS = ("a red boat sails across the ocean at sunset", "a bird in the city in the rain", "")


@torch.no_grad()
def check_package(package, parts) -> dict[str, float]:
    """Largest differences; the decoder's on the scale 0..1. Raises when one is too large."""
    torch.manual_seed(0)
    sampler = Sampler(package)
    differences = {
        "text-encoder": check_text(sampler, parts["text-encoder"]),
        "denoiser": check_denoiser(sampler, parts["denoiser"]),
        **check_decoder(sampler, parts["decoder"]),
    }
    if max(differences.values()) > TOLERANCE:
        raise SystemExit(f"parity failed: {differences}")
    return differences


def largest(given, wanted) -> float:
    """Largest absolute difference."""
    return float(np.abs(np.asarray(given, np.float64) - np.asarray(wanted, np.float64)).max())


def check_text(sampler, encoder):
    ids = np.stack([tokenize(text) for text in PROMPTS])
    given, wanted = sampler.run("text-encoder", {"input_ids": ids}), encoder(torch.from_numpy(ids))
    return max(map(largest, given, wanted))


def check_denoiser(sampler, denoiser):
    """Slots of real prompts, since random ones lie far outside."""
    slots = torch.from_numpy(np.concatenate([sampler.slots(prompt) for prompt in PROMPTS[:2]]))
    feeds = {
        "sample": torch.randn(2, CHANNELS, 1, 1),
        "timestep": torch.tensor([0.9, 0.3]),
        "encoder_hidden_states": slots,
        "time_ids": torch.tensor([[1024.0, 1536, 0, 0, 1024, 1536], [1024.0, 1024, 0, 0, 1024, 1024]]),
    }
    given = sampler.run("denoiser", {name: value.numpy() for name, value in feeds.items()})[0]
    return largest(given, denoiser(*feeds.values()))


def check_decoder(sampler, decoder):
    """Two sizes; edges of one pixel turn rounding errors into larger ones, so all but a few pixels count."""
    result = {}
    for size, prompt in zip(((160, 240), (256, 256)), PROMPTS):
        latents = sampler.latents(prompt, size)
        feeds = {"latent_sample": latents, "size": np.array(size)}
        given = sampler.run("still-decoder", feeds)[0]
        wanted = decoder(*(torch.from_numpy(value) for value in feeds.values())).numpy()
        away = np.abs(given - wanted).reshape(-1) / 2
        result[f"still-decoder {size[1]}x{size[0]}"] = float(np.quantile(away, 0.9999))
    return result

"""Trains the denoiser on stored vectors of clips. Resumable; about twenty core-minutes."""

import pathlib

import numpy as np
import torch

from .checkpoints import load_part
from .codec import LINES
from .denoiser import Denoiser, used_channels
from .shapes import MOTION_CHANNELS, PARTS, STILL_TOKENS
from .train_flow import BATCH, Flow, Prompts, train_flow

NUMBER_WEIGHT, SPRITE_WEIGHT, MOTION_WEIGHT = 2.0, 1.3, 6.0
GROUPS = {"canvas": (0, 7), "layers": (7, 10), "sprite": (10, 12), "motion": (13, 14)}
"""First and last token of what is shown while it learns."""


def train_denoiser(folder: pathlib.Path, steps: int, seed: int = 0) -> None:
    """Writes denoiser.pt (running average) and denoiser-state.pt every 50 steps."""
    vectors, classes = load_clips(folder)
    prompts = Prompts(load_part(folder, "text-encoder").tables(), classes)
    vectors = torch.from_numpy(vectors)

    def batch():
        rows = torch.randint(len(vectors), (BATCH,))
        return vectors[rows].float(), prompts.slots(rows)

    def velocity(model, *given):
        return model.network(*given)

    used = used_channels()
    token = torch.arange(len(used))[:, None].expand_as(used)[used]
    groups = {name: (token >= a) & (token < b) for name, (a, b) in GROUPS.items()}
    train_flow(folder, Flow(Denoiser, velocity, batch, channel_weights(), groups), steps, seed)


def channel_weights() -> torch.Tensor:
    """Of every used number: plain ones count more than components."""
    found = []
    for names in STILL_TOKENS:
        for name in names:
            components = name in (*LINES, "sky", "profile")
            weight = 1.0 if components else SPRITE_WEIGHT if name == "sprite" else NUMBER_WEIGHT
            found += [weight] * PARTS[name]
    weights = torch.tensor([*found, *[MOTION_WEIGHT] * MOTION_CHANNELS])
    return weights / weights.mean()


def load_clips(folder):
    """-> vectors [n, used channels] and classes [n, 8]."""
    stored = [np.load(path) for path in sorted(folder.glob("latents-*.npz")) if ".partial" not in path.name]
    return [np.concatenate([item[name] for item in stored]) for name in ("vectors", "classes")]

"""Trains the denoiser by rectified flow on stored vectors. Resumable; about ten core-minutes."""

import pathlib

import numpy as np
import torch
from motion.train_flow import BATCH, Flow, Prompts, train_flow

from .checkpoints import load_part
from .denoiser import StillDenoiser
from .latents import channel_weights
from .shapes import CHANNELS, part_slices

GROUPS = {
    "canvas": ("sky", "profile"),
    "layers": ("band", "tile_look"),
    "sprite": ("sprite", "sprite"),
    "place": ("place", "place"),
}
"""First and last part of what is shown while it learns."""


def train_denoiser(folder: pathlib.Path, steps: int, seed: int = 0) -> None:
    """Writes denoiser.pt (running average) and denoiser-state.pt every 50 steps."""
    stored = load_stills(folder)
    vectors, aspects = torch.from_numpy(stored["vectors"]), torch.from_numpy(np.log(stored["widths"])).float()
    prompts = Prompts(load_part(folder, "text-encoder").tables(), stored["classes"])

    def batch():
        rows = torch.randint(len(vectors), (BATCH,))
        return vectors[rows].float(), prompts.slots(rows), aspects[rows]

    places, numbers = part_slices(), torch.arange(CHANNELS)
    groups = {
        name: (numbers >= places[first].start) & (numbers < places[last].stop)
        for name, (first, last) in GROUPS.items()
    }
    flow = Flow(StillDenoiser, StillDenoiser.velocity, batch, channel_weights(), groups)
    train_flow(folder, flow, steps, seed)


def load_stills(folder: pathlib.Path) -> dict[str, np.ndarray]:
    """vectors [n, 379], widths [n], classes [n, 8]"""
    paths = [path for path in sorted(folder.glob("latents-*.npz")) if ".partial" not in path.name]
    stored = [np.load(path) for path in paths]
    return {name: np.concatenate([item[name] for item in stored]) for name in stored[0].files}

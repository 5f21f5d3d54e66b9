"""The first layer's view of the sound in closed form: what tells phones apart, decorrelated."""

import pathlib

import torch

from .acoustic_model import FRONT_WIDTH, normalise, stack
from .augment import Chunks
from .phones import NUMBER_OF

CHUNKS = 240


def fit_front(corpus: list[dict], path: pathlib.Path) -> dict[str, torch.Tensor]:
    """`mean` [720] and `projection` [160, 720]: linear discriminants, each scaled to variance 1."""
    if path.exists():
        return torch.load(path)
    features, states, _ = Chunks(corpus, seed=99).batch(CHUNKS)
    frames = stack(normalise(torch.from_numpy(features).transpose(1, 2))).flatten(0, 1)
    mean = frames.mean(0)
    projection = discriminants((frames - mean).double(), torch.from_numpy(states).flatten())
    front = {"mean": mean, "projection": projection.float()}
    partial = path.with_suffix(".partial")
    torch.save(front, partial)
    partial.rename(path)
    return front


def discriminants(frames: torch.Tensor, states: torch.Tensor) -> torch.Tensor:
    """Directions with the most scatter between phones over the scatter within them."""
    total = frames.T @ frames / len(frames)
    within = torch.zeros_like(total)
    for phone in range(len(NUMBER_OF)):
        own = frames[states == phone]
        if len(own) > 1:
            own = own - own.mean(0)
            within += own.T @ own / len(frames)
    within += torch.eye(len(within), dtype=within.dtype) * within.trace() / len(within) * 1e-3
    values, vectors = torch.linalg.eigh(within)
    whitening = vectors @ torch.diag(values**-0.5) @ vectors.T
    _, vectors = torch.linalg.eigh(whitening @ total @ whitening)
    directions = vectors[:, -FRONT_WIDTH:].T @ whitening
    return directions / ((frames @ directions.T) ** 2).mean(0).sqrt()[:, None]

"""Composes the training pieces and keeps what the networks read of them."""

import math
import pathlib
import random
import time

import numpy as np

from . import vocabulary as v
from .attributes import Attributes, draw_attributes
from .contexts import composer_inputs, planner_inputs
from .piece import compose

CHUNK = 250


def make_pieces(folder: pathlib.Path, count: int, seed: int = 17) -> None:
    """Writes pieces-N.npz of 250 pieces each; those that exist are kept."""
    begun = time.monotonic()
    for chunk in range(math.ceil(count / CHUNK)):
        path = folder / f"pieces-{chunk}.npz"
        if path.exists():
            continue
        rng = random.Random(seed * 1_000_003 + chunk)
        parts = [piece_rows(rng) for _ in range(CHUNK)]
        joined = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        partial = path.with_suffix(".partial.npz")
        np.savez_compressed(partial, **joined)
        partial.rename(path)
        print(f"pieces {(chunk + 1) * CHUNK}/{count} {time.monotonic() - begun:.0f} s", flush=True)


def piece_rows(rng: random.Random) -> dict[str, np.ndarray]:
    """One piece as rows of planner and composer."""
    attributes = draw_attributes(rng)
    bars = int(math.exp(rng.uniform(0, math.log(56))))
    piece = compose(attributes, bars, rng)
    bar_history, bar_context = planner_inputs(attributes, piece.plan)
    history, context = composer_inputs(attributes, piece.plan, piece.tokens)
    return {
        "bar_history": bar_history.astype(np.uint8),
        "bar_context": bar_context.astype(np.uint8),
        "plan": piece.plan.astype(np.uint8),
        "history": history.astype(np.uint8),
        "context": context.astype(np.uint8),
        "tokens": piece.tokens.astype(np.uint8),
        "velocities": (piece.velocities * 255).round().astype(np.uint8),
        "delays": (piece.delays * 255).round().astype(np.uint8),
    }


def hidden_wishes(attributes: Attributes, rng: random.Random) -> list[int]:
    """What a prompt might say of the players: some are wanted, some that are absent are unwanted."""
    told, refused = rng.choice((0.0, 0.4, 0.7, 1.0)), rng.choice((0.0, 0.0, 0.1, 0.3, 1.0))
    wishes = []
    for name in v.NAMED:
        present = name in attributes.named
        wishes.append(int(present and rng.random() < told) or 2 * int(not present and rng.random() < refused))
    return wishes


def load_rows(folder: pathlib.Path, names: list[str]) -> dict[str, np.ndarray]:
    """Rows of all pieces."""
    paths = sorted(folder.glob("pieces-*.npz"))
    loaded = [np.load(path) for path in paths if "partial" not in path.name]
    return {name: np.concatenate([one[name] for one in loaded]) for name in names}

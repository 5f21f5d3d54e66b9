"""Fits the timbres to the teacher's instruments. Two minutes of one core."""

import pathlib

import numpy as np
import torch

from .teacher_timbres import FLOOR, TIMBRES, noise_levels, partial_levels
from .timbres import Timbres
from .training import train
from .vocabulary import SOUNDS

POINTS, RATE = 96, 1e-2
RANGES = {"bass": (26, 60), "bells": (58, 98), "flute": (54, 96), "trumpet": (46, 86)}


def train_timbres(folder: pathlib.Path, steps: int, seed: int = 37) -> None:
    """Writes timbres.pt."""
    torch.manual_seed(seed)
    model = Timbres()
    sounds = torch.arange(len(SOUNDS)).repeat_interleave(POINTS)

    def loss_of(step: int) -> torch.Tensor:
        pitch, velocity, age, after, target = make_points(np.random.default_rng((seed, step)))
        partials, noise = model(sounds, pitch, velocity, age[:, None], after[:, None])
        given = torch.cat([partials, noise], 2)[:, 0]
        heard = torch.exp(0.35 * (target - FLOOR)) - 1
        weight = (heard / heard.mean()).clamp(0.03, 6)
        silent = target <= FLOOR + 1e-3
        error = torch.where(silent, (given - FLOOR).clamp(min=0), (given - target).abs())
        return (error * weight).mean()

    train(folder, "timbres", model, loss_of, steps, RATE)


def make_points(rng: np.random.Generator) -> tuple[torch.Tensor, ...]:
    """Random notes at random moments: pitch, velocity, age, after [n] and target levels [n, 50]."""
    rows = [[], [], [], [], []]
    for name in SOUNDS:
        low, high = RANGES.get(name, (36, 96))
        pitch = rng.uniform(low, high, POINTS)
        velocity = rng.uniform(0.3, 1.0, POINTS)
        length = np.exp(rng.uniform(np.log(0.05), np.log(4), POINTS))
        age = np.where(rng.random(POINTS) < 0.4, rng.exponential(0.05, POINTS), rng.uniform(0, 1.3, POINTS) * length)
        after = np.maximum(0, age - length)
        hertz = np.full(POINTS, TIMBRES[name].fixed_hz) if TIMBRES[name].fixed_hz else 440 * 2 ** ((pitch - 69) / 12)
        levels = partial_levels(name, hertz, velocity, age, after), noise_levels(name, velocity, age, after)
        for row, values in zip(rows, (pitch, velocity, age, after, np.concatenate(levels, 1)), strict=True):
            row.append(values)
    return tuple(torch.from_numpy(np.concatenate(row)).float() for row in rows)

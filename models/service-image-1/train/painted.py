"""Exactly painted stills as small pictures: what the probe learns from and is judged on."""

import math
import pathlib
import random
import time

import numpy as np
import torch

from .ground_truth import paint_exactly
from .make_latents import paint_share
from .probe import ATTRIBUTES, GRID, SIDE
from .shapes import CENTRE
from .stills import sample_still

STILLS_PER_FILE = 500
SEED = 70_000


def paint_stills(folder: pathlib.Path, stills: int, seed: int = SEED) -> None:
    """Writes painted-<n>.npz: pictures [500, 112, 112, 3] uint8, widths, classes; files that exist are
    kept. The first file only judges the probe."""
    started = time.time()
    for number in range(-(-stills // STILLS_PER_FILE) + 1):
        path = folder / f"painted-{number}.npz"
        if path.exists():
            continue
        rng, pictures, widths, classes = random.Random(seed + number), [], [], []
        for _ in range(STILLS_PER_FILE):
            still = sample_still(rng)
            picture = paint_exactly(still, paint_share(rng), SIDE, SIDE)
            pictures.append((picture.permute(1, 2, 0) * 255).round().to(torch.uint8).numpy())
            widths.append(still.width)
            classes.append([values.index(still.scene[name]) for name, values in ATTRIBUTES.items()])
        partial = path.with_suffix(".partial.npz")
        np.savez(partial, pictures=np.stack(pictures), widths=np.array(widths), classes=np.array(classes))
        partial.rename(path)
        print(f"{path.name} {time.time() - started:.0f}s", flush=True)


def load_painted(folder, numbers):
    """-> pictures uint8 [n, 112, 112, 3], widths [n], classes [n, 6], centres [n, 2]."""
    stored = [np.load(folder / f"painted-{number}.npz") for number in numbers]
    names = ("pictures", "widths", "classes")
    pictures, widths, classes = (np.concatenate([item[name] for item in stored]) for name in names)
    centres = [centre_of(still) for number in numbers for still in stills_of(number)]
    return pictures, torch.from_numpy(widths).float(), torch.from_numpy(classes), torch.tensor(centres)


def stills_of(number: int, seed: int = SEED):
    """The stills of a file, again: their chance is their file's alone."""
    rng = random.Random(seed + number)
    for _ in range(STILLS_PER_FILE):
        still = sample_still(rng)
        paint_share(rng)
        yield still


def centre_of(still) -> tuple[float, float]:
    """Row and column of the subject's centre as shares of the picture; NaN where there is no subject."""
    if still.scene["subject"] == "none":
        return math.nan, math.nan
    return float(still.place[1]), (float(still.place[0]) - CENTRE) / still.width + 0.5


def cells_of(centres: torch.Tensor) -> torch.Tensor:
    """[n, 2] -> where the subject is in the grid of the squeezed picture; GRID² where there is none."""
    row, column = (centres.nan_to_num().clamp(0, 0.999) * GRID).long().unbind(1)
    return torch.where(centres[:, 0].isnan(), GRID * GRID, row * GRID + column)


def count_files(folder) -> int:
    return len([path for path in folder.glob("painted-*.npz") if ".partial" not in path.name])


def floats(pictures) -> torch.Tensor:
    """uint8 [B, 112, 112, 3] -> [B, 3, 112, 112] in 0..1."""
    return torch.from_numpy(pictures).permute(0, 3, 1, 2).float() / 255

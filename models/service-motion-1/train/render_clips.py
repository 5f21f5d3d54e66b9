"""Exactly rendered clips for the probe, with everything that is to be read off them. Resumable."""

import pathlib
import random
import time

import numpy as np

from .probe import HEIGHT, SHARES, WIDTH
from .renderer import render_with_places
from .scenes import sample_scene
from .vocabulary import SLOTS

CLIPS_PER_FILE = 500
SECONDS = 4
FINER_EVERY = 6
"""Every sixth file is painted twice as fine and averaged, as the frames of a film are."""


def render_clips(folder: pathlib.Path, clips: int, seed: int = 70_000) -> None:
    """Writes rendered-<n>.npy, frames [500, 6, 144, 256, 3] uint8, and rendered-<n>.npz, classes [500, 8] and
    places [500, 6, 5] (renderer.py); files that exist are kept. The first file only judges the probe."""
    started = time.time()
    for number in range(-(-clips // CLIPS_PER_FILE) + 1):
        path = folder / f"rendered-{number}.npz"
        if path.exists():
            continue
        frames, classes, places = render_file(random.Random(seed + number), 1 + (number % FINER_EVERY == 0))
        np.save(folder / f"rendered-{number}.npy", frames)
        partial = folder / f"rendered-{number}.partial.npz"
        np.savez(partial, classes=classes, places=places)
        partial.rename(path)
        print(f"{path.name} {time.time() - started:.0f}s", flush=True)


def render_file(rng: random.Random, finer: int):
    """-> frames, classes and places of 500 random scenes."""
    frames, classes, places = [], [], []
    for _ in range(CLIPS_PER_FILE):
        scene = {**sample_scene(rng), "seconds": SECONDS}
        seconds = [SECONDS * share for share in SHARES]
        pixels, found = render_with_places(scene, rng, seconds, HEIGHT * finer, WIDTH * finer)
        frames.append(averaged(pixels, finer))
        classes.append([values.index(scene[name]) for name, values in SLOTS])
        places.append(found)
    return np.stack(frames), np.array(classes), np.stack(places).astype(np.float32)


def averaged(pixels, finer: int):
    """uint8 [n, finer H, finer W, 3] -> uint8 [n, H, W, 3]"""
    count, height, width, _ = pixels.shape
    cells = pixels.reshape(count, height // finer, finer, width // finer, finer, 3)
    return (cells.mean((2, 4)) + 0.5).astype(np.uint8)


def count_files(folder: pathlib.Path) -> int:
    """Whole files of clips."""
    return len([path for path in folder.glob("rendered-*.npz") if ".partial" not in path.name])


def load_rendered(folder: pathlib.Path, numbers):
    """-> a list of frames (mapped, not read), classes [n, 8], places [n, 6, 5]"""
    frames = [np.load(folder / f"rendered-{number}.npy", mmap_mode="r") for number in numbers]
    stored = [np.load(folder / f"rendered-{number}.npz") for number in numbers]
    return frames, *(np.concatenate([item[name] for item in stored]) for name in ("classes", "places"))

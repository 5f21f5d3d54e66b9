"""Tokens of random clips: what the denoiser learns from. Two minutes for 60 000 clips."""

import pathlib
import random
import time

import numpy as np

from . import shapes
from .checkpoints import load_part
from .clip_tokens import Tokeniser, motion_tokens
from .fit_codecs import clip_code
from .scenes import sample_scene
from .vocabulary import SLOTS

CLIPS_PER_FILE = 5000


def make_latents(folder: pathlib.Path, clips: int, seed: int = 1000) -> None:
    """Writes latents-<n>.npz; files that exist are kept."""
    tokeniser = Tokeniser(load_part(folder, "scene-codec"), load_part(folder, "sprite-codec"))
    started = time.time()
    for number in range(-(-clips // CLIPS_PER_FILE)):
        path = folder / f"latents-{number}.npz"
        if path.exists():
            continue
        write_file(path, tokeniser, random.Random(seed + 77 * number))
        print(f"{path.name} {time.time() - started:.0f}s", flush=True)


def write_file(path, tokeniser, rng):
    """still [n, 13, 64], motion [n, 20, 64] (held at the end), half seconds [n], classes [n, 8]."""
    still, motion, lengths, classes = [], [], [], []
    for _ in range(CLIPS_PER_FILE):
        scene = sample_scene(rng)
        code, placement = clip_code(scene, rng)
        count = shapes.LATENTS_PER_SECOND * scene["seconds"]
        moved = np.zeros((20, shapes.CHANNELS), np.float16)
        moved[:count] = motion_tokens(placement, count)
        still.append(tokeniser.still_tokens(code, scene, rng).astype(np.float16))
        motion.append(moved)
        lengths.append(count)
        classes.append([values.index(scene[name]) for name, values in SLOTS])
    partial = path.with_suffix(".partial.npz")
    np.savez(
        partial,
        still=np.stack(still),
        motion=np.stack(motion),
        lengths=np.array(lengths),
        classes=np.array(classes),
    )
    partial.rename(path)

"""Vectors of random clips: what the denoiser learns from. Five minutes for 120 000 clips."""

import pathlib
import random
import time

import numpy as np

from .checkpoints import load_part
from .clip_tokens import Tokeniser
from .denoiser import used_channels
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
    """vectors [n, used channels] float16 and classes [n, 8]."""
    vectors, classes, used = [], [], used_channels().numpy()
    for _ in range(CLIPS_PER_FILE):
        scene = sample_scene(rng)
        code, placement = clip_code(scene, rng)
        still, motion = tokeniser.still_tokens(code, scene, rng), tokeniser.motion_token(code, placement)
        vectors.append(np.concatenate([still, motion[None]])[used].astype(np.float16))
        classes.append([values.index(scene[name]) for name, values in SLOTS])
    partial = path.with_suffix(".partial.npz")
    np.savez(partial, vectors=np.stack(vectors), classes=np.array(classes))
    partial.rename(path)

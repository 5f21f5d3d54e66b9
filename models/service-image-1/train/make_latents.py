"""Latent vectors of random stills: what the denoiser learns from. A minute for 100 000 stills."""

import pathlib
import random
import time

import numpy as np
from motion.vocabulary import SLOTS

from .checkpoints import load_part, save_part
from .latents import StillEncoder
from .sprite_codec import fit_sprite_codec
from .stills import sample_still

STILLS_PER_FILE = 20_000
SPRITE_STILLS = 700


def paint_share(rng: random.Random) -> float:
    """Brightness of a subject's paint."""
    return rng.uniform(0.92, 1.08)


def make_sprite_codec(folder: pathlib.Path, seed: int = 8) -> None:
    """Writes sprite-codec.pt."""
    rng = random.Random(seed)
    stills = [sample_still(rng) for _ in range(SPRITE_STILLS)]
    save_part(folder, "sprite-codec", fit_sprite_codec(stills, [paint_share(rng) for _ in stills]))


def make_latents(folder: pathlib.Path, stills: int, seed: int = 4000) -> None:
    """Writes latents-<n>.npz; files that exist are kept."""
    encoder = StillEncoder(load_part(folder, "scene-codec"), load_part(folder, "sprite-codec"))
    started = time.time()
    for number in range(-(-stills // STILLS_PER_FILE)):
        path = folder / f"latents-{number}.npz"
        if path.exists():
            continue
        write_file(path, encoder, random.Random(seed + 77 * number))
        print(f"{path.name} {time.time() - started:.0f}s", flush=True)


def write_file(path, encoder, rng):
    """vectors [n, 379] float16, widths [n] (frame heights), classes [n, 8]."""
    vectors, widths, classes = [], [], []
    for _ in range(STILLS_PER_FILE):
        still = sample_still(rng)
        vectors.append(encoder.encode(still, paint_share(rng)).astype(np.float16))
        widths.append(still.width)
        classes.append([values.index(still.scene[name]) for name, values in SLOTS])
    partial = path.with_suffix(".partial.npz")
    np.savez(partial, vectors=np.stack(vectors), widths=np.array(widths), classes=np.array(classes))
    partial.rename(path)

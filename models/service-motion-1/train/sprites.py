"""Python face of the subject's drawing in world/ (C), compiled on first use."""

import ctypes
import functools
import os
import pathlib
import subprocess
import tempfile

import numpy as np

from . import shapes
from . import vocabulary as words

SOURCES = pathlib.Path(__file__).parent / "world"
FLAGS = ["-O3", "-ffast-math", "-shared", "-fPIC"]
FLOATS = ctypes.POINTER(ctypes.c_float)


@functools.cache
def library() -> ctypes.CDLL:
    """Compiles the sources into the temporary folder, unless an up-to-date library is there."""
    files = sorted(SOURCES.glob("*.c"))
    target = pathlib.Path(tempfile.gettempdir()) / f"service-motion-1-world-2-{os.getuid()}.so"
    newest = max(path.stat().st_mtime for path in SOURCES.iterdir())
    if not target.exists() or target.stat().st_mtime < newest:
        partial = target.with_suffix(f".{os.getpid()}")
        subprocess.run(["cc", *FLAGS, "-o", partial, *files, "-lm"], check=True)
        partial.rename(target)
    return ctypes.CDLL(str(target))


def draw_sprite(scene, colour, second: float, side: int = shapes.SPRITE_SIDE) -> np.ndarray:
    """The subject alone at a second, premultiplied RGBA in 0..1: [4, side, side] float32.

    scene: subject, setting, time, weather; colour: RGB multipliers 0..1.
    """
    sprite = np.zeros((4, side, side), np.float32)
    paint = np.asarray(colour, np.float32)
    library().draw_sprite(
        words.SUBJECTS.index(scene["subject"]),
        paint.ctypes.data_as(FLOATS),
        words.SETTINGS.index(scene["setting"]),
        words.TIMES_OF_DAY.index(scene["time"]),
        int(scene["weather"] == "fog"),
        ctypes.c_float(second),
        side,
        sprite.ctypes.data_as(FLOATS),
    )
    return sprite


def phase_seconds(half: int) -> list[float]:
    """Times of the four phases of an even (0) or odd (1) half second."""
    first = shapes.FRAMES_PER_LATENT * half
    return [(first + offset) / shapes.FRAME_RATE for offset in (1, 4, 7, 10)]


def draw_phases(scene, colour, half: int) -> np.ndarray:
    """Four phases, flat [262144]."""
    return np.concatenate([draw_sprite(scene, colour, second).reshape(-1) for second in phase_seconds(half)])

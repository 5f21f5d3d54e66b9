"""Python face of the scene renderer in world/ (C), compiled on first use."""

import ctypes
import functools
import math
import os
import pathlib
import subprocess
import tempfile

import numpy as np

from . import shapes

SOURCES = pathlib.Path(__file__).parent / "world"
FLAGS = ["-O3", "-ffast-math", "-shared", "-fPIC"]

FLOATS = ctypes.POINTER(ctypes.c_float)
INTS = ctypes.POINTER(ctypes.c_int)
BYTES = ctypes.POINTER(ctypes.c_uint8)


@functools.cache
def library() -> ctypes.CDLL:
    """Compiles the sources into the temporary folder, unless an up-to-date library is there."""
    files = sorted(SOURCES.glob("*.c"))
    target = pathlib.Path(tempfile.gettempdir()) / f"service-motion-1-world-{os.getuid()}.so"
    newest = max(path.stat().st_mtime for path in SOURCES.iterdir())
    if not target.exists() or target.stat().st_mtime < newest:
        partial = target.with_suffix(f".{os.getpid()}")
        subprocess.run(["cc", *FLAGS, "-o", partial, *files, "-lm"], check=True)
        partial.rename(target)
    return ctypes.CDLL(str(target))


def render(parameters, seconds, rows_per_height=90.0, size=(96, 160), origin=(0, 0)) -> np.ndarray:
    """Frames at the given seconds: [n, H, W, 3] uint8.

    rows_per_height: pixels that the 16:9 picture is high; size and origin (row, column) choose a
    piece of the frame, which is rows_per_height / 30 rows taller than the picture at either end.
    """
    seconds = np.ascontiguousarray(seconds, np.float32)
    parameters = np.ascontiguousarray(parameters, np.float32)
    frames = np.empty((len(seconds), *size, 3), np.uint8)
    library().render_frames(
        pointer(parameters, FLOATS),
        pointer(seconds, FLOATS),
        len(seconds),
        ctypes.c_float(rows_per_height),
        origin[1],
        origin[0],
        size[1],
        size[0],
        pointer(frames, BYTES),
    )
    return frames


def place_subject(parameters, second: float) -> np.ndarray:
    """x, y (frame heights), half size (frame heights), angle (radians), facing (-1 or 1)."""
    parameters = np.ascontiguousarray(parameters, np.float32)
    place = np.zeros(5, np.float32)
    library().place_subject(pointer(parameters, FLOATS), ctypes.c_float(second), pointer(place, FLOATS))
    return place


def draw_sprite(parameters, second: float, side: int = shapes.SPRITE_SIDE) -> np.ndarray:
    """The subject alone, premultiplied RGBA in 0..1: [4, side, side] float32."""
    parameters = np.ascontiguousarray(parameters, np.float32)
    sprite = np.zeros((4, side, side), np.float32)
    library().draw_sprite(pointer(parameters, FLOATS), ctypes.c_float(second), side, pointer(sprite, FLOATS))
    return sprite


def motion_vector(parameters, seconds) -> np.ndarray:
    """Motion token of the key frames at the given seconds: 5 numbers each, then the facing."""
    values = []
    for second in seconds:
        x, y, size, angle, facing = place_subject(parameters, second)
        values += [(x - 0.889) * 1.6, (y - 0.5) * 3, math.log(size / 0.15) * 1.8]
        values += [math.sin(angle) * 1.4, math.cos(angle) * 1.4 - 0.6]
    return np.array([*values, facing], np.float32)


def keyframe_seconds(latent_index: int) -> list[float]:
    """Times of the four key frames of a half second."""
    first = shapes.FRAMES_PER_LATENT * latent_index
    return [(first + offset) / shapes.FRAME_RATE for offset in (1, 4, 7, 10)]


def pointer(array, kind):
    """The array's memory as a C pointer."""
    return array.ctypes.data_as(kind)

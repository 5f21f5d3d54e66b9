"""Renders clips and stores their latents: what the denoiser learns from."""

import pathlib
import pickle
import random

import numpy as np
import torch

from . import shapes
from .checkpoints import load_part
from .fit_codecs import sprite_vector
from .renderer import keyframe_seconds, motion_vector, render
from .scenes import sample_scene, scene_parameters, without_subject

CLIPS_PER_FILE = 250


def make_latents(folder: pathlib.Path, clips: int, length: int, seed: int = 1000) -> None:
    """Writes latents-<length>-<n>.npz and .pickle; files that exist are kept.

    length: half seconds of each piece, 8 or 20.
    """
    codecs = load_part(folder, "background-codec"), load_part(folder, "sprite-codec")
    for number in range(-(-clips // CLIPS_PER_FILE)):
        path = folder / f"latents-{length}-{number}.npz"
        if path.exists():
            continue
        rng = random.Random(seed + 77 * number + length)
        made = [make_clip(*codecs, length, rng) for _ in range(CLIPS_PER_FILE)]
        path.with_suffix(".pickle").write_bytes(pickle.dumps([item[1:] for item in made]))
        partial = path.with_suffix(".partial.npz")
        np.savez(partial, latents=np.stack([item[0] for item in made]))
        partial.rename(path)
        print(path.name, flush=True)


def make_clip(background, sprite, length, rng):
    """-> latents [length, 62, 64] float16, scene, first half second."""
    scene = sample_scene(rng)
    if length > 8:
        scene["seconds"] = 10
    parameters = scene_parameters(scene, rng)
    spare = max(0, 2 * scene["seconds"] - length)
    first = rng.randint(0, spare) if rng.random() < 0.7 else 0
    times = [keyframe_seconds(first + index) for index in range(length)]
    latents = np.zeros((length, shapes.TOKENS, shapes.CHANNELS), np.float16)
    latents[:, : shapes.BACKGROUND_TOKENS, : shapes.BACKGROUND_CHANNELS] = background_tokens(
        background, parameters, times
    )
    phases = torch.from_numpy(np.stack([sprite_vector(parameters, times[index]) for index in (0, 1)]))
    looks = sprite.encode(phases).numpy()
    for index, seconds in enumerate(times):
        latents[index, shapes.SPRITE_TOKEN] = looks[index % 2]
        latents[index, shapes.MOTION_TOKEN, : shapes.MOTION_CHANNELS] = motion_vector(parameters, seconds)
    return latents, scene, first


def background_tokens(codec, parameters, times) -> np.ndarray:
    """[length, 60, 48]"""
    frames = render(without_subject(parameters), sum(times, []))
    pixels = torch.from_numpy(frames).permute(0, 3, 1, 2).float() / 127.5 - 1
    return codec.encode(pixels.reshape(len(times), 12, *pixels.shape[2:])).numpy()

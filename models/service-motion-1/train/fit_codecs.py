"""Fits both codecs in closed form by principal components. About a minute."""

import pathlib
import random

import numpy as np
import torch
from torch.nn import functional as F

from .background_codec import BackgroundCodec
from .checkpoints import save_part
from .renderer import draw_sprite, keyframe_seconds, render
from .scenes import sample_scene, scene_parameters, without_subject
from .shapes import BACKGROUND_CHANNELS, CELL, SPRITE_CHANNELS
from .sprite_codec import SpriteCodec


def fit_background_codec(folder: pathlib.Path, scenes: int = 700, seed: int = 3) -> None:
    """Writes background-codec.pt."""
    rng, cells = random.Random(seed), []
    for _ in range(scenes):
        scene, parameters, seconds = sample_window(rng)
        frames = torch.from_numpy(render(without_subject(parameters), seconds))
        pixels = frames.permute(0, 3, 1, 2).reshape(1, 12, *frames.shape[1:3]).float() / 127.5 - 1
        cells.append(F.unfold(pixels, CELL, stride=CELL)[0].T)
    cells = torch.cat(cells)
    mean = cells.mean(0)
    centred = cells - mean
    variance, basis = leading_eigenvectors(centred.T @ centred / len(cells), BACKGROUND_CHANNELS)
    print(f"background {psnr(centred, basis) + 6.02:.2f} dB", flush=True)  # pixels span -1..1
    save_part(folder, "background-codec", BackgroundCodec.from_components(mean, basis, variance))


def fit_sprite_codec(folder: pathlib.Path, scenes: int = 900, seed: int = 8) -> None:
    """Writes sprite-codec.pt."""
    rng, sprites = random.Random(seed), []
    for _ in range(scenes):
        _, parameters, seconds = sample_window(rng)
        sprites.append(sprite_vector(parameters, seconds).astype(np.float16))
    sprites = torch.from_numpy(np.stack(sprites)).float()
    mean = sprites.mean(0)
    centred = sprites - mean
    scaled, vectors = leading_eigenvectors(centred @ centred.T, SPRITE_CHANNELS)
    basis = centred.T @ vectors / scaled.sqrt()
    print(f"sprite {psnr(centred, basis):.2f} dB", flush=True)
    save_part(folder, "sprite-codec", SpriteCodec.from_components(mean, basis, scaled / scenes))


def sample_window(rng):
    """-> scene, parameters, seconds of the key frames of one of its half seconds."""
    scene = sample_scene(rng)
    parameters = scene_parameters(scene, rng)
    return scene, parameters, keyframe_seconds(rng.randint(0, 2 * scene["seconds"] - 1))


def sprite_vector(parameters, seconds) -> np.ndarray:
    """Four phases of the subject, flat [262144]."""
    return np.concatenate([draw_sprite(parameters, second).reshape(-1) for second in seconds])


def leading_eigenvectors(matrix, count):
    """-> eigenvalues [count] and eigenvectors [n, count], largest first."""
    values, vectors = torch.linalg.eigh(matrix)
    return values.flip(0)[:count], vectors.flip(1)[:, :count].contiguous()


def psnr(centred, basis) -> float:
    """Of the projection, for a range of 1, in dB."""
    missing = centred - (centred @ basis) @ basis.T
    return -10 * float(missing.pow(2).mean().log10())

"""Fits the image encoder by ridge regression on rendered canvases. About a minute."""

import pathlib
import random

import numpy as np
import torch
from torch.nn import functional as F

from . import shapes
from .checkpoints import load_part, save_part
from .clip_tokens import Tokeniser
from .fit_codecs import clip_code
from .image_encoder import COLUMNS, ROWS, ImageEncoder
from .painter import Painter, centres, textures_of
from .scenes import sample_scene

RIDGE = 0.02
"""Of the mean square of the inputs."""


@torch.no_grad()
def fit_image_encoder(folder: pathlib.Path, scenes: int = 4000, seed: int = 21) -> None:
    """Writes image-encoder.pt."""
    tokeniser = Tokeniser(load_part(folder, "scene-codec"), load_part(folder, "sprite-codec"))
    rng, painter, inputs, targets = random.Random(seed), Painter(), [], []
    rows, columns = centres(2 * ROWS, 2 * COLUMNS)
    for _ in range(scenes):
        scene = {**sample_scene(rng), "subject": "none"}
        code, _ = clip_code(scene, rng)
        picture = painter(textures_of(code), rows, columns)[None] * 2 - 1
        inputs.append(F.avg_pool2d(picture, 2).flatten().numpy())
        targets.append(tokeniser.still_tokens(code, scene, rng)[: shapes.CANVAS_TOKENS].reshape(-1))
    inputs, targets = np.stack(inputs).astype(np.float64), np.stack(targets).astype(np.float64)
    middle, aim = inputs.mean(0), targets.mean(0)
    centred = inputs - middle
    gram = centred.T @ centred
    gram += np.eye(len(gram)) * RIDGE * np.trace(gram) / len(gram)
    weight = np.linalg.solve(gram, centred.T @ (targets - aim))
    left = np.square(targets - aim - centred @ weight).mean() / np.square(targets - aim).mean()
    print(f"image encoder: share of the tokens' variance left {left:.3f}", flush=True)
    encoder = ImageEncoder()
    encoder.map.weight.copy_(torch.from_numpy(weight.T))
    encoder.map.bias.copy_(torch.from_numpy(aim - middle @ weight))
    save_part(folder, "image-encoder", encoder)

"""Paints a still: canvas, bands, shadow, subject and weather, in torch that exports to ONNX."""

import dataclasses
import math

import numpy as np
import torch
from motion.painter import mix, paint_band, paint_tile, sharpen, tent
from motion.shapes import SPRITE_DROP, SPRITE_EXTENT, TILE_PERIOD
from torch.nn import functional as F

from .shapes import SPRITE_SIDE

ENLARGING = 2
"""Texels of the enlarged sprite for one of its own."""
ALPHA_FLOOR = 0.05
SHADOW_SIDE = 44
"""Texels of a shadow along both sides."""
SHADOW_HEIGHT, SHADOW_FALL = 0.2, 2.0
"""Height of a shadow in heights of its subject; how fast it pales with the subject's height."""


@dataclasses.dataclass(frozen=True)
class Subject:
    """The subject in the frame; numbers are scalars of torch."""

    sprite: torch.Tensor
    """Premultiplied RGBA [4, S, S], S a multiple of SHADOW_SIDE; its edge is one texel of 176 wide."""
    x: torch.Tensor
    y: torch.Tensor
    size: torch.Tensor
    """Centre and half size in frame heights."""
    sine: torch.Tensor
    cosine: torch.Tensor
    facing: torch.Tensor
    """-1 where it looks left."""


def paint_still(painter, code, subject: Subject, turns, places) -> torch.Tensor:
    """code: textures of motion's painter and "shadow" (strength, height of the ground); turns: two angles
    of the weather's tile; places: rows [H] and columns [W] in frame heights -> RGB [3, H, W] in 0..1."""
    rows, columns = places
    picture = painter(code, rows, columns)
    for index in range(2):
        look = code["band_look"][index]
        picture = mix(picture, look[4:7, None, None], paint_band(code, index, rows, columns) * look[7])
    picture = picture * (1 - shadow_cover(code["shadow"], subject, rows, columns))
    picture = over(picture, subject, rows, columns)
    look = code["tile_look"]
    down, across = (turn * (TILE_PERIOD / (2 * math.pi)) for turn in turns)
    cover = paint_tile(code, rows + down, columns + across)
    return mix(picture, look[2:5, None, None], cover * look[5]).clamp(0, 1)


def over(picture, subject: Subject, rows, columns):
    """The subject before the picture, its edge one pixel wide."""
    half = subject.size * SPRITE_EXTENT
    x, y = columns[None] - subject.x, rows[:, None] - subject.y
    u = (x * subject.cosine + y * subject.sine) * (subject.facing / half)
    v = (y * subject.cosine - x * subject.sine) / half - SPRITE_DROP / SPRITE_EXTENT
    grid = torch.stack([u, v], -1)[None]
    drawn = F.grid_sample(subject.sprite[None], grid, mode="bilinear", padding_mode="zeros", align_corners=False)[0]
    alpha = drawn[3:]
    steep = sharpen(alpha, 2 * half / SPRITE_SIDE / (rows[1] - rows[0]))
    return picture * (1 - steep) + drawn[:3] * (steep / alpha.clamp(min=ALPHA_FLOOR))


def shadow_cover(numbers, subject: Subject, rows, columns):
    """Cover 0..1 of the subject's shadow on the ground, [H, W]."""
    strength, ground = numbers[0], numbers[1]
    half = subject.size * SPRITE_EXTENT
    small = F.avg_pool2d(subject.sprite[None, 3:], int(subject.sprite.shape[-1]) // SHADOW_SIDE)
    soft = F.avg_pool2d(small, 3, stride=1, padding=1)[0, 0]
    u = (columns - subject.x) * (subject.facing / half)
    v = (rows - ground) / (half * SHADOW_HEIGHT)
    down, across = (tent((place + 1) * (SHADOW_SIDE / 2) - 0.5, SHADOW_SIDE, hold=False) for place in (v, u))
    lifted = (ground - subject.y - 0.55 * subject.size).clamp(min=0)
    return down @ soft @ across.T * (strength / (1 + SHADOW_FALL * lifted))


def enlarged(sprite, matrix):
    """Sprite [4, s, s] -> [4, S, S]."""
    return matrix @ sprite @ matrix.T


def enlarging_matrix(lobes: int = 3) -> torch.Tensor:
    """Lanczos interpolation with held edges, [S, s]."""
    side = SPRITE_SIDE
    place = (np.arange(side * ENLARGING) + 0.5) / ENLARGING - 0.5
    matrix = np.zeros((side * ENLARGING, side))
    for tap in range(1 - lobes, lobes + 1):
        index = np.floor(place).astype(int) + tap
        distance = place - index
        weight = np.sinc(distance) * np.sinc(distance / lobes)
        np.add.at(matrix, (np.arange(len(place)), index.clip(0, side - 1)), weight)
    return torch.from_numpy((matrix / matrix.sum(1, keepdims=True)).astype(np.float32))

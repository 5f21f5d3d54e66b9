"""Stills -> latent vectors of 379 numbers, and back to their parts."""

import math

import numpy as np
import torch
from motion.clip_tokens import part_map

from .shapes import CENTRE, CHANNELS, PARTS, SPRITE_CHANNELS, part_slices
from .sprite_codec import SpriteLatents

PLACE_GAIN = np.array([4.5, 6.0, 2.2, 2.0, 1.6, 1.0, 1.4, 1.4, 1.4, 1.4], np.float32)
PLACE_OFFSET = np.array([0, 0.58, -0.05, 0, 0.8, 0, 0, 0, 0, 0], np.float32)
"""Of x (frame widths from the middle), y, log of the half size in units of 0.15, sine and cosine of the
turn, facing, cosines and sines of the two angles of the tile."""
UNIT_SIZE = 0.15


class StillEncoder:
    """Holds the codecs as matrices."""

    def __init__(self, scene_codec, sprite_codec):
        self.sprites = SpriteLatents(sprite_codec)
        own = ("sprite", "place")
        self.maps = {name: part_map(scene_codec, name) for name in PARTS if name not in own}

    def encode(self, still, share: float) -> np.ndarray:
        """[379] float32; share: brightness of the subject's paint."""
        pieces = []
        for name, (offset, matrix) in self.maps.items():
            values = still.code[name].reshape(-1, matrix.shape[0])
            pieces.append((values @ matrix - offset).reshape(-1))
        pieces.append(self.sprites.of(still.scene, still.second, share))
        pieces.append((place_values(still) - PLACE_OFFSET) * PLACE_GAIN)
        return np.concatenate(pieces).astype(np.float32)


def place_values(still) -> np.ndarray:
    """[10]"""
    x, y, size, turn, facing, down, across = still.place.tolist()
    seen = [(x - CENTRE) / still.width, y, math.log(size / UNIT_SIZE), math.sin(turn), math.cos(turn), facing]
    angles = [math.cos(down), math.sin(down), math.cos(across), math.sin(across)]
    return np.array([*seen, *angles], np.float32)


def split_vector(vector: torch.Tensor) -> dict[str, torch.Tensor]:
    """[379] -> each part [count, width]."""
    return {
        name: vector[place].reshape(PARTS[name]) for name, place in part_slices().items()
    }


def channel_weights() -> torch.Tensor:
    """[379]: plain numbers count more than components."""
    weights = torch.ones(CHANNELS)
    for name, place in part_slices().items():
        components = name.startswith("line_") and name != "line_place"
        weights[place] = 1.0 if components or name in ("sky", "profile") else 2.0
    places = part_slices()
    weights[places["sprite"]] = 1.3
    weights[places["place"]] = torch.tensor([2, 2, 4, 2, 2, 2, 0.5, 0.5, 0.5, 0.5])
    weights[places["sprite"].start : places["sprite"].start + SPRITE_CHANNELS // 4] = 2.0
    return weights / weights.mean()

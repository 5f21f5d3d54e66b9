"""Scenes -> tokens: still tokens [13, 64] and the motion token [64]."""

import functools
import math

import numpy as np
import torch

from . import shapes
from . import vocabulary as words
from .paths import path_weights
from .sprites import draw_phases

UNIT_SIZE = 0.15
FULL_PAINT = 0.8


class Tokeniser:
    """Holds the codecs as matrices, and what the sprite codec says of every subject."""

    def __init__(self, scene_codec, sprite_codec):
        self.sprite_mean = sprite_codec.mean.float().numpy()
        self.sprite_basis = (sprite_codec.basis.float() * sprite_codec.gain).numpy()
        names = [name for name in (*shapes.PARTS, "path") if name != "sprite"]
        self.maps = {name: part_map(scene_codec, name) for name in names}

    def still_tokens(self, code, scene, rng) -> np.ndarray:
        """[13, 64] float32"""
        tokens = np.zeros((shapes.STILL_COUNT, shapes.CHANNELS), np.float32)
        seen: dict[str, int] = {}
        share = rng.uniform(0.92, 1.08)
        for index, names in enumerate(shapes.STILL_TOKENS):
            start = 0
            for name in names:
                number = seen.get(name, 0)
                seen[name] = number + 1
                end = start + shapes.PARTS[name]
                if name == "sprite":
                    tokens[index, start:end] = self.sprite_latents(scene, number, share)
                else:
                    offset, matrix = self.maps[name]
                    value = code[name].reshape(-1, matrix.shape[0])[number]
                    tokens[index, start:end] = value @ matrix - offset
                start = end
        return tokens

    def motion_token(self, code, placement) -> np.ndarray:
        """[64] float32: the path, and the facing."""
        token = np.zeros(shapes.CHANNELS, np.float32)
        offset, matrix = self.maps["path"]
        token[: shapes.PATH_CHANNELS] = code["path"] @ matrix - offset
        token[shapes.PATH_CHANNELS] = placement.facing()
        return token

    def sprite_latents(self, scene, half, share) -> np.ndarray:
        """[64] of an even or odd half second; share: brightness of the paint."""
        setting = scene["setting"] if scene["setting"] in ("space", "underwater") else "meadow"
        weather = "fog" if scene["weather"] == "fog" else "clear"
        drawn = self._drawn(scene["subject"], setting, scene["time"], weather)[half]
        if scene["colour"] == "white":
            return drawn[4]
        paint = np.clip(np.array(words.COLOURS[scene["colour"]]) * share, 0, 1)
        return drawn[0] + (paint / FULL_PAINT) @ (drawn[1:4] - drawn[0])

    @functools.cache
    def _drawn(self, subject, setting, time, weather):
        """Latents without paint, in full red, green and blue, and in white: [2, 5, 64].

        A drawing is linear in its paint, but for white, which has another second colour.
        """
        scene = {"subject": subject, "setting": setting, "time": time, "weather": weather}
        paints = [np.zeros(3), *np.eye(3) * FULL_PAINT, np.array(words.COLOURS["white"])]
        drawn = np.stack([draw_phases(scene, paint, half) for half in (0, 1) for paint in paints])
        return ((drawn - self.sprite_mean) @ self.sprite_basis).reshape(2, len(paints), -1)


def part_map(codec, name):
    """Offset [channels] and matrix [numbers, channels] from a code's numbers to latents."""
    mean, gain = (getattr(codec, f"{name}_{item}") for item in ("mean", "gain"))
    basis = getattr(codec, f"{name}_basis", None)
    if basis is None:
        matrix = torch.diag(gain)
        return (mean * gain).numpy(), matrix.numpy()
    matrix = basis * gain
    return (mean @ matrix).numpy(), matrix.numpy()


def clip_path(placement) -> np.ndarray:
    """Weights of the path's curves, [88] float32, from 8 places a second."""
    seconds, empty = placement.scene["seconds"], placement.subject == "none"
    times, motion = (np.arange(8 * seconds) + 0.5) / 8, []
    for second in times.tolist():
        x, y, size, angle = (8 / 9, 0.5, UNIT_SIZE, 0.0) if empty else placement.place(second)
        turned = [math.log(size / UNIT_SIZE), math.sin(angle), math.cos(angle)]
        motion.append([x, y, *turned, *placement.view(second)])
    return path_weights(np.array(motion), times, seconds)

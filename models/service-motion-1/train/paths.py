"""The path of a clip: weights of curves over time, one column for each number of the motion.

A path made of these cannot tremble: they are smooth, but for a bounce's corners.
"""

import math

import numpy as np
import torch

from . import shapes

POWERS = 6
"""Legendre polynomials over the share of the clip: 0 to 5."""
CURVES = POWERS + 5
"""Then sine and cosine of half a turn a second, the sine's size (a bounce), sine and cosine of a spin."""
WEIGHTS = CURVES * shapes.MOTION_VALUES
SPIN = 2 * math.pi / 3
"""Radians a second."""
VISIBLE = (1, 1, 0.3, 0.3, 0.3, 1, 1, 0.5)
"""How far (frame heights) the picture's parts move when a number of the motion changes by 1."""
GATES = {(1, 0): 0.03, (1, 1): 0.06, (6, 1): 0.003, (8, 1): 0.06, (9, 3): 0.25, (10, 4): 0.25, (1, 5): 0.03}
GATES |= {(degree, 3): 0.06 for degree in range(3)}
"""(curve, number) -> weight under which nothing moves or leans: crossing, climb, bob, bounce, spin, pan, angle."""


def gates() -> tuple[np.ndarray, np.ndarray]:
    """Least weights (1 where there is none), and where there is one, [11, 8] float32 each."""
    least = np.zeros((CURVES, shapes.MOTION_VALUES), np.float32)
    for place, value in GATES.items():
        least[place] = value
    gated = (least > 0).astype(np.float32)
    return least + 1 - gated, gated


def legendre() -> np.ndarray:
    """[powers, polynomials]: weights of 1, u, u^2, ... for u in -1..1."""
    columns = [np.polynomial.legendre.leg2poly(row) for row in np.eye(POWERS)]
    return np.stack([np.pad(column, (0, POWERS - len(column))) for column in columns], 1)


def curves(second: np.ndarray, seconds: float) -> np.ndarray:
    """[n] seconds of a clip -> [n, 11]."""
    u = 2 * np.asarray(second, np.float64) / seconds - 1
    half_turn, spin = math.pi * np.asarray(second), SPIN * np.asarray(second)
    waves = [np.sin(half_turn), np.cos(half_turn), np.abs(np.sin(half_turn)), np.sin(spin), np.cos(spin)]
    return np.concatenate([u[:, None] ** np.arange(POWERS) @ legendre(), np.stack(waves, 1)], 1)


def path_weights(motion: np.ndarray, second: np.ndarray, seconds: float) -> np.ndarray:
    """Motion [n, 8] at [n] seconds -> [88] float32: the curves that fit best."""
    return np.linalg.lstsq(curves(second, seconds), motion, rcond=None)[0].astype(np.float32).reshape(-1)


def visible_paths() -> torch.Tensor:
    """What each weight alone shows, over clips of 4 to 10 seconds: [88, samples]."""
    shown = []
    for seconds in range(4, 11):
        value = curves(np.linspace(0, seconds, 8 * seconds), seconds) / math.sqrt(8 * seconds)
        shown.append(np.einsum("nk,cd->kcnd", value, np.diag(VISIBLE)).reshape(WEIGHTS, -1))
    return torch.from_numpy(np.concatenate(shown, 1) / math.sqrt(len(shown)))

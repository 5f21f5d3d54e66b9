"""Whisper's mel features as src/media/mel.ts makes them."""

import functools

import numpy as np
import scipy.fft

from .utterance import RATE_HZ

BINS = 80
HOP = 160
FRAME = 400
SILENCE = -10.0
"""log10 of the least power told apart from silence."""
RANGE = 8
"""Decades below the loudest, beneath which nothing is heard."""


def features_of(samples: np.ndarray) -> np.ndarray:
    """[80, frames] as src/media/mel.ts gives them."""
    return scale(log_mel(samples, len(samples) // HOP // 3 * 3))


def scale(level: np.ndarray) -> np.ndarray:
    """[frames, 80] log10 of power to what src/media/mel.ts gives: [80, frames]."""
    return ((np.maximum(level, level.max() - RANGE) + 4) / 4).T.astype(np.float32)


def log_mel(samples: np.ndarray, frames: int) -> np.ndarray:
    """[frames, 80] float32, log10 of power; frame i is centred on sample 160 i."""
    padded = np.zeros(frames * HOP + FRAME, np.float32)
    padded[FRAME // 2 : FRAME // 2 + len(samples)] = samples[: len(padded) - FRAME // 2]
    windows = np.lib.stride_tricks.sliding_window_view(padded, FRAME)[: frames * HOP : HOP]
    spectrum = scipy.fft.rfft(windows * _window(), axis=1)
    power = spectrum.real**2 + spectrum.imag**2
    return np.log10(np.maximum(power @ filters().T, 1e-10)).astype(np.float32)


@functools.cache
def _window() -> np.ndarray:
    return (0.5 - 0.5 * np.cos(2 * np.pi * np.arange(FRAME) / FRAME)).astype(np.float32)


@functools.cache
def filters() -> np.ndarray:
    """[80, 201]: triangles between neighbours on Slaney's mel scale, each of unit area."""
    edges = _to_hz(np.linspace(0, _to_mel(RATE_HZ / 2), BINS + 2))
    lines = np.arange(FRAME // 2 + 1) * RATE_HZ / FRAME
    low, centre, high = edges[:-2, None], edges[1:-1, None], edges[2:, None]
    height = np.minimum((lines - low) / (centre - low), (high - lines) / (high - centre))
    return (np.maximum(0, height) * 2 / (high - low)).astype(np.float32)


def _to_mel(hz: float) -> float:
    return hz * 3 / 200 if hz < 1000 else 15 + np.log(hz / 1000) / (np.log(6.4) / 27)


def _to_hz(mel: np.ndarray) -> np.ndarray:
    return np.where(mel < 15, mel * 200 / 3, 1000 * np.exp(np.log(6.4) / 27 * (mel - 15)))

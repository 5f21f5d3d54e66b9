"""Frames of 5 ms as the vocoder plays them: log pitch, five voicing bands, 25 coefficients."""

import numpy as np
import pyworld
import torch
from scipy.signal import resample_poly

from .vocoder import HOP, ORDER, RATE, WARP, Vocoder

VOICING = np.array([1, 1, 0.95, 0.8, 0.6], np.float32)
"""Of the five bands where there is voice: more noise than this is heard as noise (DNSMOS falls by 0.1 to 0.3)."""
FRAME = 1 + 5 + ORDER + 1
PITCH_RANGE_HZ = (60, 220)
LOUDNESS = 0.09
"""Root mean square of speech, -21 dBFS."""


def analyse(samples: np.ndarray, rate: int) -> np.ndarray:
    """[frames, 31] of sound, by WORLD at 16 kHz."""
    sound = samples.astype(np.float64)
    if rate != RATE:
        sound = resample_poly(sound, RATE, rate)
    low, high = PITCH_RANGE_HZ
    pitch, times = pyworld.dio(sound, RATE, f0_floor=low, f0_ceil=high, frame_period=1000 * HOP / RATE)
    pitch = pyworld.stonemask(sound, pitch, times, RATE)
    power = pyworld.cheaptrick(sound, pitch, times, RATE)
    voiced = pitch > 10
    cepstrum = 0.5 * np.log(power + 1e-12) @ cepstral_projection(power.shape[1])
    return np.concatenate([smooth_pitch(pitch, voiced), VOICING * voiced[:, None], cepstrum], 1).astype(np.float32)


def smooth_pitch(pitch: np.ndarray, voiced: np.ndarray) -> np.ndarray:
    """Log hertz [frames, 1], drawn through where there is no voice."""
    if not voiced.any():
        return np.full((len(pitch), 1), np.log(120), np.float32)
    places = np.arange(len(pitch))
    return np.interp(places, places[voiced], np.log(pitch[voiced]))[:, None].astype(np.float32)


def cepstral_projection(bins: int) -> np.ndarray:
    """[bins, 25]: log amplitudes to the mel-cepstrum nearest to them on the mel scale."""
    angle = np.linspace(0, np.pi, bins)
    warped = angle + 2 * np.arctan2(WARP * np.sin(angle), 1 - WARP * np.cos(angle))
    basis = np.cos(np.arange(ORDER + 1)[None] * warped[:, None])
    weight = np.gradient(warped)[:, None]
    return (np.linalg.inv(basis.T @ (weight * basis)) @ (weight * basis).T).T


def play(frames: np.ndarray, vocoder: Vocoder) -> np.ndarray:
    """Frames as sound."""
    values = torch.from_numpy(np.asarray(frames, np.float32))
    with torch.no_grad():
        return vocoder(torch.exp(values[:, 0]), values[:, 1:6].clamp(0, 1), values[:, 6:]).numpy()

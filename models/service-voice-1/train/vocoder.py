"""The vocoder: frames of pitch, voicing bands and a mel-cepstrum to a waveform, all of it fixed arithmetic.

A band-limited pulse train and white noise are cut into overlapping pieces, shaped by each frame's
minimum-phase spectrum (a mel-cepstrum gives amplitude and phase through two fixed bases) and added up.
"""

import numpy as np
import torch
from torch import nn

RATE = 16000
HOP = 80
"""Samples a frame, 5 ms."""
FFT = 512
BINS = FFT // 2 + 1
ORDER = 24
WARP = 0.42
"""All-pass constant of the mel-cepstrum."""
BAND_EDGES = (1000, 2000, 4000, 6000)
"""Hz between the five voicing bands."""
NOISE_SAMPLES = 48000
TOP_HZ = 7800
"""No harmonics above."""


def warped_angles() -> np.ndarray:
    """Mel angle of each bin, radians."""
    angle = np.linspace(0, np.pi, BINS)
    return angle + 2 * np.arctan2(WARP * np.sin(angle), 1 - WARP * np.cos(angle))


def band_weights() -> np.ndarray:
    """How much of each voicing band is in each bin [5, BINS]: bands melt over 400 Hz."""
    hz = np.linspace(0, RATE / 2, BINS)
    steps = [np.clip((hz - edge) / 400 + 0.5, 0, 1) for edge in BAND_EDGES]
    above = np.stack([np.ones(BINS), *steps])
    return above - np.concatenate([above[1:], np.zeros((1, BINS))])


class Vocoder(nn.Module):
    """forward(f0 [T] Hz above 0, bands [T, 5] in 0..1, cepstrum [T, 25]) -> waveform [T * HOP].

    breath: share of the noise inside voiced frames that is kept.
    """

    def __init__(self, breath: float = 0.5):
        super().__init__()
        self.breath = breath
        constant = lambda name, value: self.register_buffer(
            name, torch.tensor(np.asarray(value), dtype=torch.float32), persistent=False
        )
        order = np.arange(ORDER + 1)[:, None]
        warped = warped_angles()[None]
        constant("amplitude_basis", np.cos(order * warped))
        constant("phase_basis", -np.sin(order * warped))
        constant("band_basis", band_weights())
        sample = np.arange(2 * HOP)[:, None] * np.linspace(0, np.pi, BINS)[None]
        window = np.hanning(2 * HOP + 1)[:-1, None]
        constant("analysis_real", window * np.cos(sample))
        constant("analysis_imaginary", -window * np.sin(sample))
        back = np.linspace(0, np.pi, BINS)[:, None] * np.arange(FFT)[None]
        fold = np.full((BINS, 1), 2 / FFT)
        fold[[0, -1]] = 1 / FFT
        constant("synthesis_real", fold * np.cos(back))
        constant("synthesis_imaginary", -fold * np.sin(back))
        generator = np.random.default_rng(1)
        constant("noise", generator.standard_normal(NOISE_SAMPLES))
        constant("ramp", (np.arange(HOP) + 0.5) / HOP)

    def forward(self, f0, bands, cepstrum, breath=1.0):
        spectrum = self.spectrum(cepstrum)
        sound = self.pulses(f0)
        pulses = self.pieces(sound)
        noise = self.pieces(self.noise_like(sound))
        lowest = bands[:, :1]
        hiss = 1 - lowest + self.breath * breath * (lowest - bands)
        share = (hiss @ self.band_basis).clamp(0, 1)
        voiced, unvoiced = torch.sqrt(1 - share), torch.sqrt(share)
        real = pulses[0] * voiced + noise[0] * unvoiced
        imaginary = pulses[1] * voiced + noise[1] * unvoiced
        shaped_real = real * spectrum[0] - imaginary * spectrum[1]
        shaped_imaginary = real * spectrum[1] + imaginary * spectrum[0]
        pieces = shaped_real @ self.synthesis_real + shaped_imaginary @ self.synthesis_imaginary
        return self.overlap(pieces)

    def spectrum(self, cepstrum):
        """Real and imaginary part [T, BINS] of the minimum-phase filter."""
        amplitude = torch.exp((cepstrum @ self.amplitude_basis).clamp(-20, 5))
        phase = cepstrum @ self.phase_basis
        return amplitude * torch.cos(phase), amplitude * torch.sin(phase)

    def pulses(self, f0):
        """Sum of all harmonics below TOP_HZ, of unit power per hertz as white noise has."""
        following = torch.cat([f0[1:], f0[-1:]])
        hertz = (f0[:, None] + (following - f0)[:, None] * self.ramp).reshape(-1)
        cycles = torch.cumsum(hertz.double() / RATE, 0)
        phase = (cycles - torch.floor(cycles)).float()
        count = TOP_HZ / hertz
        whole = torch.floor(count)
        half = torch.pi * (phase - torch.round(phase))
        below = torch.sin(half)
        below = torch.where(below.abs() < 1e-4, torch.full_like(below, 1e-4), below)
        half = torch.where(half.abs() < 1e-4, torch.full_like(half, 1e-4), half)
        fewer = torch.sin((2 * whole + 1) * half) / (2 * below)
        more = torch.sin((2 * whole + 3) * half) / (2 * below)
        share = count - whole
        return (fewer + (more - fewer) * share - 0.5) * 2 * torch.sqrt(hertz / RATE)

    def noise_like(self, sound):
        """White noise as long as a sound, the same at every call."""
        place = torch.cumsum(torch.ones_like(sound, dtype=torch.int64), 0) - 1
        return self.noise[place % NOISE_SAMPLES]

    def pieces(self, sound):
        """Spectra [T, BINS] (real, imaginary) of pieces of two hops."""
        rows = sound.reshape(-1, HOP)
        before = torch.cat([torch.zeros_like(rows[:1]), rows[:-1]])
        pairs = torch.cat([before, rows], 1)
        return pairs @ self.analysis_real, pairs @ self.analysis_imaginary

    def overlap(self, pieces):
        """Pieces [T, FFT] that start a hop apart, added up; its first T hops."""
        hops = -(-FFT // HOP)
        padded = nn.functional.pad(pieces, (0, hops * HOP - FFT)).reshape(-1, hops, HOP)
        total = padded[:, 0]
        for hop in range(1, hops):
            total = total + nn.functional.pad(padded[:, hop], (0, 0, hop, 0))[: total.shape[0]]
        return total.reshape(-1)

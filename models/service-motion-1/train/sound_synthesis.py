"""The fixed synthesiser: controls and noise -> 48 kHz stereo, as loud as the controls say."""

import math

import torch
from torch import nn
from torch.nn import functional as F

from .shapes import SAMPLE_RATE_HZ
from .sound_model import (
    BAND_HZ,
    BANDS,
    BLOCK,
    LUFS_STEP,
    MIDDLE_LUFS,
    OSCILLATOR_PAN,
    OSCILLATORS,
    REFERENCE_HZ,
    chance_features,
)

WINDOW = 480
HOP = WINDOW // 2
BINS = WINDOW // 2 + 1
CEILING = 0.8
"""The soft limiter's largest sample, about -1.9 dBFS."""
FADE_SECONDS = 0.08


class Synthesiser(nn.Module):
    """Filters noise in a short-time spectrum, adds oscillators, sets loudness, limits and fades."""

    def __init__(self):
        super().__init__()
        place = torch.arange(WINDOW) + 0.5
        window = torch.sin(math.pi * place / WINDOW)
        angle = 2 * math.pi * torch.arange(BINS)[:, None] * (place[None] / WINDOW)
        basis = torch.cat([angle.cos(), angle.sin()]) * window
        weight = torch.full((BINS,), 2.0)
        weight[0] = weight[-1] = 1.0
        self.register_buffer("analysis", basis[:, None])
        self.register_buffer("resynthesis", (basis * torch.cat([weight, weight])[:, None])[:, None] / WINDOW)
        self.register_buffer("band_to_bin", band_to_bin())
        self.register_buffer("hearing", hearing_filter())

    def forward(self, controls: torch.Tensor, noise: torch.Tensor) -> torch.Tensor:
        """controls [1, n, 38], noise [1, 2, 960 n] -> [1, 2, 960 n] in -1..1."""
        gains, balance = controls[:, :, :BANDS], controls[:, :, BANDS : BANDS + 1]
        octaves, amplitudes, loudness = controls[:, :, BANDS + 1 :].split([OSCILLATORS, OSCILLATORS, 1], 2)
        wave = self._noise(gains, balance, noise) + oscillate(octaves, amplitudes.clamp(min=0))
        return fade(limit(self._normalise(wave, loudness.mean() * LUFS_STEP + MIDDLE_LUFS)))

    def _noise(self, gains, balance, noise):
        sides = torch.cat([gains + balance, gains - balance])
        bins = F.interpolate((sides @ self.band_to_bin).transpose(1, 2), scale_factor=float(BLOCK // HOP))
        bins = F.pad(bins, (0, 1), mode="replicate").clamp(max=6).exp()
        spectrum = F.conv1d(F.pad(noise.transpose(0, 1), (HOP, HOP)), self.analysis, stride=HOP)
        spectrum = spectrum * torch.cat([bins, bins], 1)
        shaped = F.conv_transpose1d(spectrum, self.resynthesis, stride=HOP)
        return shaped[:, :, HOP:-HOP].transpose(0, 1)

    def _normalise(self, wave, lufs):
        """Scales to a loudness (BS.1770 without gating; its head filter as one short kernel)."""
        heard = F.conv1d(wave.transpose(0, 1), self.hearing, padding=self.hearing.shape[2] // 2)
        power = heard.pow(2).mean(2).sum() + 1e-9
        return wave * ((math.log(10) / 20 * (lufs + 0.691)).exp() / power.sqrt())


class SoundModel(nn.Module):
    """The whole graph: slots [1, 8, 48], noise [1, 2, S] -> waveform [1, 2, S]; S a multiple of 960."""

    def __init__(self, controller: nn.Module):
        super().__init__()
        self.controller, self.synthesiser = controller, Synthesiser()

    def forward(self, slots, noise):
        blocks = F.avg_pool1d(noise, BLOCK) * BLOCK**0.5
        return self.synthesiser(self.controller(slots, chance_features(blocks)), noise)


def band_to_bin() -> torch.Tensor:
    """[24, 241]: linear interpolation of log gains over log frequency."""
    hertz = torch.arange(BINS).clamp(min=0.5) * (SAMPLE_RATE_HZ / WINDOW)
    step = (BAND_HZ[1] / BAND_HZ[0]).log()
    place = ((hertz / BAND_HZ[0]).log() / step).clamp(0, BANDS - 1)
    return (1 - (place[None] - torch.arange(BANDS)[:, None]).abs()).clamp(min=0)


def hearing_filter(taps: int = 65) -> torch.Tensor:
    """[1, 1, 65]: zero-phase kernel with the magnitude of BS.1770's shelf (+4 dB above 1.5 kHz)."""
    hertz = torch.arange(taps // 2 + 1) / taps * SAMPLE_RATE_HZ
    decibel = 4 / (1 + (1500 / hertz.clamp(min=1)) ** 4) - 0.0
    magnitude = 10 ** (decibel / 20)
    place = torch.arange(taps) - taps // 2
    angle = 2 * math.pi * place[:, None] * hertz[None] / SAMPLE_RATE_HZ
    weight = torch.full((len(hertz),), 2.0)
    weight[0] = 1
    return ((angle.cos() * magnitude * weight).sum(1) / taps)[None, None]


def oscillate(octaves, amplitudes):
    """Octaves from 440 Hz and amplitudes [1, n, 6] -> [1, 2, 960 n].

    Phase advances by whole blocks first, so that it stays exact over a long clip.
    """
    hertz = REFERENCE_HZ * torch.exp(math.log(2) * octaves.clamp(-5, 5))
    following = torch.cat([hertz[:, 1:], hertz[:, -1:]], 1)
    cycles = (hertz + following) * (0.5 * BLOCK / SAMPLE_RATE_HZ)
    cycles = cycles - torch.floor(cycles)
    start = torch.cumsum(cycles, 1) - cycles
    start = start - torch.floor(start)
    share = torch.arange(BLOCK, dtype=hertz.dtype) / BLOCK
    advance = hertz[..., None] * share + 0.5 * (following - hertz)[..., None] * share**2
    phase = start[..., None] + advance * (BLOCK / SAMPLE_RATE_HZ)
    after = torch.cat([amplitudes[:, 1:], amplitudes[:, -1:]], 1)
    amplitude = amplitudes[..., None] + (after - amplitudes)[..., None] * share
    tones = (amplitude * torch.sin(2 * math.pi * (phase - torch.floor(phase)))).transpose(1, 2)
    tones = tones.reshape(1, OSCILLATORS, -1)
    pan = torch.stack([1 - OSCILLATOR_PAN, OSCILLATOR_PAN]).sqrt()
    return (pan @ tones[0])[None]


def limit(wave):
    """Leaves small samples as they are and keeps all below the ceiling."""
    return CEILING * torch.tanh(wave / CEILING)


def fade(wave):
    """Raised-cosine fades at both ends."""
    count = wave.shape[2]
    index = torch.arange(count, dtype=wave.dtype) + 0.5
    edge = torch.minimum(index, count - index) / (FADE_SECONDS * SAMPLE_RATE_HZ)
    return wave * (0.5 - 0.5 * torch.cos(math.pi * edge.clamp(max=1)))

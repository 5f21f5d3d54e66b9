"""Text slots and noise -> a stereo sound bed: a controller at 50 Hz and a fixed synthesiser.

The controller decides how loud each of 24 noise bands and where each of 6 oscillators is; its
chance comes from slow averages of the noise itself, so one noise gives one sound.
"""

import math

import torch
from torch import nn
from torch.nn import functional as F

from .shapes import SAMPLE_RATE_HZ, SLOT_WIDTH, SLOTS

CONTROL_HZ = 50
BLOCK = SAMPLE_RATE_HZ // CONTROL_HZ
BANDS = 24
BAND_HZ = torch.logspace(math.log10(50), math.log10(16000), BANDS)
OSCILLATORS = 6
OSCILLATOR_PAN = torch.tensor([0.3, 0.7, 0.62, 0.5, 0.4, 0.6])
"""0 = left, 1 = right."""
CYCLES_PER_SECOND = torch.tensor([1 / 7, 0.3, 0.5, 1, 2, 4, 8, 12])
SMOOTHING_SECONDS = (0.08, 0.3, 1.2)
CONTROLS = BANDS + 1 + 2 * OSCILLATORS + 1
MIDDLE_LUFS, LUFS_STEP = -24.0, 6.0
"""Loudness that the last control means at 0, and what 1 adds; its mean over the clip counts."""
REFERENCE_HZ = 440.0


class SoundController(nn.Module):
    """Slots and chance -> [B, n, 38] controls: log gains, balance, octaves from 440 Hz, amplitudes, loudness."""

    def __init__(self, width: int = 128, layers: int = 6):
        super().__init__()
        features = 2 * len(CYCLES_PER_SECOND) + 2 * len(SMOOTHING_SECONDS) + 1
        self.slot_in = nn.Sequential(nn.Linear(SLOTS * SLOT_WIDTH, width), nn.SiLU())
        self.feature_in = nn.Linear(features, width)
        self.blocks = nn.ModuleList([ControlBlock(width, 2 ** min(i, 4)) for i in range(layers)])
        self.out = nn.Linear(width, CONTROLS)
        self.register_buffer("cycles", CYCLES_PER_SECOND.clone())

    def forward(self, slots: torch.Tensor, chance: torch.Tensor) -> torch.Tensor:
        """slots [B, 8, 48], chance [B, n, 6] from chance_features."""
        prompt = self.slot_in(slots.reshape(-1, SLOTS * SLOT_WIDTH))
        seconds = torch.arange(chance.shape[1], dtype=chance.dtype) / CONTROL_HZ
        angle = 2 * math.pi * seconds[:, None] * self.cycles
        clock = torch.cat([angle.sin(), angle.cos(), seconds[:, None] / 10], 1)
        clock = clock[None] + torch.zeros_like(chance[:, :, :1])
        hidden = self.feature_in(torch.cat([clock, chance], 2)) + prompt[:, None]
        hidden = hidden.transpose(1, 2)
        for block in self.blocks:
            hidden = block(hidden, prompt)
        return self.out(hidden.transpose(1, 2))


class ControlBlock(nn.Module):
    """Dilated convolution over time whose channels are scaled by the prompt."""

    def __init__(self, width: int, dilation: int):
        super().__init__()
        self.spread = nn.Conv1d(width, width, 3, padding=dilation, dilation=dilation)
        self.modulation = nn.Linear(width, 2 * width)
        self.mix = nn.Conv1d(width, width, 1)
        nn.init.zeros_(self.modulation.weight)
        nn.init.zeros_(self.modulation.bias)

    def forward(self, hidden: torch.Tensor, prompt: torch.Tensor) -> torch.Tensor:
        """hidden [B, width, n], prompt [B, width]."""
        scale, shift = self.modulation(prompt)[:, :, None].chunk(2, 1)
        inner = self.spread(hidden) * (1 + scale) + shift
        return hidden + self.mix(F.gelu(inner))


def chance_features(blocks: torch.Tensor) -> torch.Tensor:
    """Standard normal block means [B, 2, n] -> smoothed mid and side curves [B, n, 6], unit variance."""
    middle = (blocks[:, :1] + blocks[:, 1:]) * 0.5**0.5
    side = (blocks[:, :1] - blocks[:, 1:]) * 0.5**0.5
    curves = []
    for seconds in SMOOTHING_SECONDS:
        kernel = gaussian(seconds * CONTROL_HZ)
        curves += [F.conv1d(item, kernel, padding=kernel.shape[2] // 2) for item in (middle, side)]
    return torch.cat(curves, 1).transpose(1, 2)


def gaussian(deviation: float) -> torch.Tensor:
    """A kernel [1, 1, k] of unit energy."""
    reach = int(3 * deviation)
    place = torch.arange(-reach, reach + 1) / deviation
    kernel = torch.exp(-0.5 * place**2)
    return (kernel / kernel.pow(2).sum().sqrt())[None, None]

"""The learned timbres: a small network per sound gives the levels of partials and noise bands over time."""

import math

import torch
from torch import nn

from .teacher_timbres import BANDS, PARTIALS
from .vocabulary import SOUNDS

ONSET_TIMES = (0.002, 0.006, 0.02, 0.06, 0.2, 0.6, 2.0)
END_TIMES = (0.03, 0.1, 0.3, 1.0)
FEATURES = len(ONSET_TIMES) + len(END_TIMES) + 8
INNER = 40


def note_features(pitch: torch.Tensor, velocity: torch.Tensor, age: torch.Tensor, after: torch.Tensor) -> torch.Tensor:
    """Times [N, T] in seconds, pitch and velocity [N] -> [N, T, 19]."""
    height = ((pitch - 60) / 24)[:, None] + torch.zeros_like(age)
    force = (velocity * 2 - 1.3)[:, None] + torch.zeros_like(age)
    parts = [torch.exp(-age / time) for time in ONSET_TIMES] + [torch.exp(-after / time) for time in END_TIMES]
    parts += [age.clamp(max=6) * 0.5, after.clamp(max=3) * 2, height, height * height, force, height * force]
    parts += [age.clamp(max=6) * torch.exp(height * 0.62), torch.ones_like(age)]
    return torch.stack(parts, 2)


class Timbres(nn.Module):
    """Sound numbers [N] and times -> log levels of partials [N, T, 40] and of noise bands [N, T, 10]."""

    def __init__(self) -> None:
        super().__init__()
        count, out = len(SOUNDS), PARTIALS + BANDS
        self.first = nn.Parameter(torch.randn(count, FEATURES, INNER) * 0.35)
        self.second = nn.Parameter(torch.randn(count, INNER, out) * INNER**-0.5)
        self.straight = nn.Parameter(torch.zeros(count, FEATURES, out))

    def forward(
        self, sound: torch.Tensor, pitch: torch.Tensor, velocity: torch.Tensor, age: torch.Tensor, after: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Levels are natural logarithms; at FLOOR and below is silence."""
        features = note_features(pitch, velocity, age, after)
        inner = torch.tanh(features @ self.first[sound])
        levels = inner @ self.second[sound] + features @ self.straight[sound]
        return levels.split([PARTIALS, BANDS], 2)


def hertz_of(pitch: torch.Tensor) -> torch.Tensor:
    """Frequency of MIDI numbers."""
    return 440.0 * torch.exp((pitch - 69) * (math.log(2) / 12))

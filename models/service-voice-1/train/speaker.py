"""The speaker: sounds to durations, and to frames that the vocoder plays."""

import torch
from torch import nn

from .analysis import FRAME
from .blocks import Outlook, Stack
from .teachers import VOICES
from .symbols import SOUNDS

SOUND_DILATIONS = (1, 1, 2, 4)
WHOLE_DILATIONS = (1, 1)
"""Behind the look at the whole sentence."""
FRAME_DILATIONS = (1, 2, 4, 8, 1)
PLACE_FEATURES = 6


def places_of(ages: torch.Tensor, durations: torch.Tensor) -> torch.Tensor:
    """Where in its sound each frame lies [..., 6]; ages and durations in frames."""
    age, length = ages.float() + 0.5, durations.float()
    share = age / length
    before, behind = (torch.clamp(distance / 8, max=1.0) for distance in (age, length - age))
    return torch.stack([share, share * share, before, behind, torch.log(length) / 3, (share - 0.5).abs()], -1)


class Speaker(nn.Module):
    """Two halves: `encode` a sequence of sounds, then `decode` its frames of 10 ms."""

    def __init__(self, width: int = 128):
        super().__init__()
        self.sounds = nn.Embedding(len(SOUNDS), width)
        self.start = nn.Parameter(torch.randn(width) * 0.1)
        self.voices = nn.Embedding(len(VOICES), width)
        self.sound_stack = Stack(width, 5, SOUND_DILATIONS)
        self.outlook = Outlook(width)
        self.whole_stack = Stack(width, 5, WHOLE_DILATIONS)
        self.duration = nn.Linear(width, 1)
        self.place = nn.Linear(PLACE_FEATURES, width)
        self.frame_stack = Stack(width, 5, FRAME_DILATIONS)
        self.frame = nn.Linear(width, 2 * FRAME)
        self.register_buffer("mean", torch.zeros(len(VOICES), FRAME))
        self.register_buffer("deviation", torch.ones(len(VOICES), FRAME))
        self.register_buffer("duration_mean", torch.zeros(()))

    def encode(self, sounds, starts, voice, mask):
        """sounds, starts, mask [B, P], voice [B] -> hidden [B, P, W], log durations [B, P] in frames."""
        x = self.sounds(sounds) + starts[:, :, None] * self.start + self.voices(voice)[:, None]
        near = self.sound_stack(x.transpose(1, 2) * mask[:, None], mask[:, None]).transpose(1, 2) * mask[:, None]
        hidden = self.whole_stack(self.outlook(near, mask[:, None]), mask[:, None])
        return hidden, self.duration(hidden).squeeze(2) + self.duration_mean

    def decode(self, hidden, places, voice, mask):
        """hidden [B, T, W] of each frame's sound, places [B, T, 6] -> [B, T, 2 * FRAME] in deviations."""
        x = hidden + self.place(places) + self.voices(voice)[:, None]
        return self.frame(self.frame_stack(x.transpose(1, 2) * mask[:, None], mask[:, None]))

    def unscale(self, frames, voice):
        """Decoded frames [B, T, 2 * FRAME] as they are played [B, 2 * T, FRAME]."""
        halves = frames.reshape(frames.shape[0], -1, FRAME)
        return halves * self.deviation[voice][:, None] + self.mean[voice][:, None]

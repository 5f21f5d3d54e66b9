"""Mel features to phones: a factored time-delay network with two heads, 33 steps a second."""

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from .augment import warp
from .mel import BINS
from .phones import NUMBER_OF

FRAMES_PER_STEP = 3
CONTEXT_FRAMES = 9
FRONT_WIDTH = 160
"""Directions that the first layer looks in; `fit_front.py` finds them."""
WIDTHS = {"aligner": (640, 160), "cpu": (960, 224), "gpu": (1280, 320)}
"""Width and bottleneck."""
STRIDES = (1, 1, 1, 2, 2, 3, 3, 3, 3, 4, 4, 4)
"""Steps to each side that a layer sees: together 0.93 s, besides the first layer's 45 ms."""
BYPASS = 0.66
HEARINGS = (0.9, 1.1)
"""Band i of a hearing is band 0.9 i or 1.1 i of the sound."""


class FactoredLayer(nn.Module):
    """A step and an earlier one through a bottleneck, then with a later one back (Povey et al. 2018)."""

    def __init__(self, width: int, bottleneck: int, stride: int):
        super().__init__()
        self.stride = stride
        self.narrow = nn.Linear(width, 2 * bottleneck, bias=False)
        self.widen = nn.Linear(2 * bottleneck, width)
        self.norm = nn.LayerNorm(bottleneck)

    def forward(self, steps):
        """steps [steps, B, width]: time comes first, so that shifts copy nothing."""
        present, past = self.narrow(steps).chunk(2, -1)
        low = self.norm(present + F.pad(past, (0, 0, 0, 0, self.stride, 0))[: -self.stride])
        future = F.pad(low, (0, 0, 0, 0, 0, self.stride))[self.stride :]
        return BYPASS * steps + F.relu(self.widen(torch.cat((low, future), -1)))


class AcousticModel(nn.Module):
    """`spelling` has a blank and marks each phone once; `states` says which phone sounds at each step."""

    def __init__(self, width: int, bottleneck: int):
        super().__init__()
        self.register_buffer("mean", torch.zeros(CONTEXT_FRAMES * BINS))
        self.register_buffer("projection", torch.zeros(FRONT_WIDTH, CONTEXT_FRAMES * BINS))
        self.first = nn.Linear(FRONT_WIDTH, width)
        self.last_norm = nn.LayerNorm(width)
        self.layers = nn.ModuleList(FactoredLayer(width, bottleneck, stride) for stride in STRIDES)
        warps = np.stack([warp(np.eye(BINS, dtype=np.float32), factor) for factor in HEARINGS])
        self.register_buffer("warps", torch.from_numpy(warps), persistent=False)
        self.spelling = nn.Linear(width, len(NUMBER_OF))
        self.states = nn.Linear(width, len(NUMBER_OF))

    def forward(self, features):
        """features [B, 80, frames] as src/media/mel.ts scales them, frames a multiple of 3.

        They are heard as a shorter throat and as a longer one would have said them; the two are averaged.
        """
        heads = self.hear(normalise(torch.cat([features.transpose(1, 2) @ each for each in self.warps])))
        spelling, states = (torch.stack(head.chunk(len(HEARINGS))).mean(0) for head in heads)
        return F.log_softmax(spelling, -1), F.log_softmax(states, -1)

    def hear(self, frames):
        """Two [B, steps, phones] of log probabilities."""
        view = F.linear(stack(frames).transpose(0, 1) - self.mean, self.projection)
        steps = F.relu(self.first(view))
        for layer in self.layers:
            steps = layer(steps)
        steps = self.last_norm(steps).transpose(0, 1)
        return tuple(F.log_softmax(head(steps).float(), -1) for head in (self.spelling, self.states))


def stack(frames):
    """[B, frames, 80] -> [B, steps, 720]: each step with the frames around it."""
    reach = (CONTEXT_FRAMES - FRAMES_PER_STEP) // 2
    padded = F.pad(frames, (0, 0, reach, reach))
    until = frames.shape[1] - FRAMES_PER_STEP + 1
    return torch.cat([padded[:, at : at + until : FRAMES_PER_STEP] for at in range(CONTEXT_FRAMES)], -1)


def normalise(frames):
    """Each band's mean over the window is taken out: level and microphone do not matter."""
    return (frames - frames.mean(1, keepdim=True)) * 2

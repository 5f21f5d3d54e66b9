"""The reader: characters to the sounds that each stands for."""

import torch
from torch import nn

from .blocks import Stack
from .symbols import CHARACTERS, SLOTS, SOUNDS

DILATIONS = (1, 2, 1, 4, 1)


class Reader(nn.Module):
    """forward(characters [B, L], mask [B, L]) -> sounds [B, L, SLOTS, sounds], word starts [B, L, SLOTS]."""

    def __init__(self, width: int = 128):
        super().__init__()
        self.embed = nn.Embedding(len(CHARACTERS), width)
        self.stack = Stack(width, 5, DILATIONS)
        self.sounds = nn.Linear(width, SLOTS * len(SOUNDS))
        self.starts = nn.Linear(width, SLOTS)

    def forward(self, characters: torch.Tensor, mask: torch.Tensor):
        x = self.embed(characters).transpose(1, 2) * mask[:, None]
        x = self.stack(x, mask[:, None])
        sounds = self.sounds(x)
        return sounds.reshape(x.shape[0], x.shape[1], SLOTS, len(SOUNDS)), self.starts(x)

"""The judge of the evaluation: a small picture of a still -> which attributes it shows."""

import torch
from motion.vocabulary import SLOTS
from torch import nn
from torch.nn import functional as F

SIDE = 112
"""Pictures of every shape are squeezed into a square of so many pixels."""
FEATURES = 24
ATTRIBUTES = {name: list(values) for name, values in SLOTS if name not in ("motion", "camera")}
OF_SUBJECT = ("colour", "size")
"""Attributes that an empty scene does not show."""


OF_PICTURE = ("setting", "time", "weather")
GRID = 7
"""The subject is looked for in so many rows and columns of cells."""
COUNTS = {name: len(values) for name, values in ATTRIBUTES.items()}


WIDTHS = (24, 40, 80, 112)
"""Channels of the cells of 2, 4, 8 and 16 pixels; all but the first have a residual block."""
DEEPEST = WIDTHS[-1]


class Convolution(nn.Sequential):
    """3x3, normalised."""

    def __init__(self, inputs: int, outputs: int, stride: int = 1):
        super().__init__(nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False), nn.BatchNorm2d(outputs))


class Block(nn.Module):
    """Halves both sides, then adds what two convolutions find."""

    def __init__(self, inputs: int, outputs: int):
        super().__init__()
        self.halve = Convolution(inputs, outputs, 2)
        self.first, self.second = Convolution(outputs, outputs), Convolution(outputs, outputs)

    def forward(self, hidden):
        """[B, inputs, H, W] -> [B, outputs, H / 2, W / 2]"""
        hidden = F.relu(self.halve(hidden))
        return F.relu(hidden + self.second(F.relu(self.first(hidden))))


class Probe(nn.Module):
    """Small convolutional network that finds the subject's cell and reads its attributes there."""

    def __init__(self):
        super().__init__()
        self.stem = Convolution(6, WIDTHS[0], 2)
        self.blocks = nn.Sequential(*[Block(a, b) for a, b in zip(WIDTHS, WIDTHS[1:])])
        self.where = nn.Conv2d(DEEPEST, 1, 1)
        self.nowhere = nn.Parameter(torch.zeros(1))
        subject = sum(count for name, count in COUNTS.items() if name not in OF_PICTURE)
        self.cells = nn.Conv2d(DEEPEST, subject, 1)
        self.gather = nn.Sequential(nn.Linear(DEEPEST * 9 + DEEPEST, 128), nn.BatchNorm1d(128))
        self.picture = nn.Linear(128, sum(COUNTS[name] for name in OF_PICTURE))
        self.squeeze = nn.Linear(128 + DEEPEST, FEATURES)
        y, x = torch.meshgrid(torch.linspace(-1, 1, SIDE), torch.linspace(-1, 1, SIDE), indexing="ij")
        self.register_buffer("places", torch.stack([x, y])[None])

    def forward(self, pictures, aspects):
        """pictures [B, 3, 112, 112] in 0..1, aspects [B]: width over height before the squeeze
        -> logits [B, sum of classes], features [B, 24].

        The features have mean 0 and covariance 1 over painted stills.
        """
        cells, picture, where, hidden = self.look(pictures, aspects)
        share = torch.softmax(where, 1)
        subject = (cells * share[:, None, :-1]).sum(2)
        none = torch.zeros_like(subject)
        none[:, COUNTS["subject"] - 1] = 1
        subject = subject + none * share[:, -1:] * 20
        seen = torch.cat([hidden[0], (hidden[1] * share[:, None, :-1]).sum(2)], 1)
        return torch.cat([picture, subject], 1), self.squeeze(seen)

    def look(self, pictures, aspects):
        """-> the subject's logits in each cell [B, classes, 49], the picture's [B, classes], where the
        subject is [B, 49 + 1] (last: nowhere), hidden values of picture and cells."""
        count = len(pictures)
        shape = aspects.log()[:, None, None, None].expand(-1, -1, SIDE, SIDE)
        hidden = torch.cat([pictures * 2 - 1, self.places.expand(count, -1, -1, -1), shape], 1)
        hidden = hidden.contiguous(memory_format=torch.channels_last)
        hidden = self.blocks(F.relu(self.stem(hidden)))
        coarse = torch.cat([F.avg_pool2d(hidden, 3, 2).flatten(1), hidden.mean((2, 3))], 1)
        coarse = F.relu(self.gather(coarse))
        where = torch.cat([self.where(hidden).flatten(1), self.nowhere.expand(count, 1)], 1)
        return self.cells(hidden).flatten(2), self.picture(coarse), where, (coarse, hidden.flatten(2))

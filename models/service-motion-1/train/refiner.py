"""The refiner: blurry small key frame -> sharp planes of luma and chroma."""

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from .colour import yuv_matrix_of_signed_rgb
from .shapes import CELL

SLOPE = 0.1
CODE_CENTRE, CODE_SCALE = 128.0, 112.0
"""Planes in training are (8-bit code - 128) / 112."""


class Refiner(nn.Module):
    """Small U-Net on 96x160 frames. A head paints factor x factor luma pixels for each small one.

    There is one trunk and a head for each output size: x8 for 720 rows, x12 for 1080 rows.
    """

    def __init__(self, width: int = 32, inner_width: int = 48, inner_blocks: int = 3, outer_blocks: int = 1):
        super().__init__()
        self.cell_phase = nn.Parameter(torch.randn(1, 6, CELL, CELL) * 0.3)
        self.stem = nn.Conv2d(9, width, 3, padding=1)
        self.down = nn.Conv2d(width * 4, inner_width, 1)
        self.inner = nn.Sequential(*[ResidualBlock(inner_width) for _ in range(inner_blocks)])
        self.up = nn.Conv2d(inner_width, width * 4, 1)
        self.outer = nn.Sequential(*[ResidualBlock(width) for _ in range(outer_blocks)])
        self.heads = nn.ModuleDict({str(f): nn.Conv2d(width, 3 * f * f // 2, 3, padding=1) for f in (8, 12)})
        for layer in (self.stem, self.down, self.up):
            fan_in = layer.in_channels * layer.kernel_size[0] ** 2
            nn.init.normal_(layer.weight, std=1.2 * fan_in**-0.5)
            nn.init.zeros_(layer.bias)
        self.up.weight.data.mul_(0.5)
        for head in self.heads.values():
            nn.init.zeros_(head.weight)
            nn.init.zeros_(head.bias)

    def features(self, frames: torch.Tensor, first_row: int = 0, first_column: int = 0) -> torch.Tensor:
        """frames [N, 3, h, w] in -1..1 (even sides) -> activated features [N, width, h, w].

        first_row, first_column: place of the piece in the frame, for the phase of the cells.
        """
        count, _, height, width = frames.shape
        rows = (torch.arange(height) + first_row) % CELL
        columns = (torch.arange(width) + first_column) % CELL
        phase = self.cell_phase[:, :, rows][:, :, :, columns].expand(count, -1, -1, -1)
        hidden = self.stem(torch.cat([frames, phase.to(frames.dtype)], 1))
        coarse = self.inner(self.down(F.pixel_unshuffle(hidden, 2)))
        hidden = hidden + F.pixel_shuffle(self.up(activate(coarse)), 2)
        return activate(self.outer(hidden))

    def paint(self, features: torch.Tensor, frames: torch.Tensor, factor: int = 8):
        """-> luma [N, 1, factor h, factor w] and chroma [N, 2, half as many rows and columns]."""
        cells = self.heads[str(factor)](features) + smooth_cells(frames, factor)
        luma, chroma = cells.split([factor * factor, factor * factor // 2], 1)
        return F.pixel_shuffle(luma, factor), F.pixel_shuffle(chroma, factor // 2)

    def forward(self, frames: torch.Tensor, factor: int = 8):
        """frames [N, 3, 96, 160] -> planes, see paint."""
        return self.paint(self.features(frames), frames, factor)


class ResidualBlock(nn.Module):
    """Two 3x3 convolutions before which the input is activated, added to the input."""

    def __init__(self, width: int):
        super().__init__()
        self.first = nn.Conv2d(width, width, 3, padding=1)
        self.second = nn.Conv2d(width, width, 3, padding=1)
        nn.init.kaiming_normal_(self.first.weight, a=SLOPE)
        nn.init.normal_(self.second.weight, std=0.3 * (2 / (9 * width)) ** 0.5)
        nn.init.zeros_(self.first.bias)
        nn.init.zeros_(self.second.bias)

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        return hidden + self.second(activate(self.first(activate(hidden))))


def activate(hidden: torch.Tensor) -> torch.Tensor:
    """Leaky rectifier of slope 0.1."""
    return F.leaky_relu(hidden, SLOPE)


def smooth_cells(frames: torch.Tensor, factor: int) -> torch.Tensor:
    """Bilinear enlargement of frames as cells of YUV planes, [N, 1.5 factor^2, h, w]."""
    weight, bias = smooth_head(factor)
    padded = F.pad(frames, (1, 1, 1, 1), mode="replicate")
    weight, bias = (torch.from_numpy(item).to(frames.dtype) for item in (weight, bias))
    return F.conv2d(padded, weight, bias)


def smooth_head(factor: int) -> tuple[np.ndarray, np.ndarray]:
    """Convolution from RGB in -1..1: weight [1.5 f f, 3, 3, 3], bias [1.5 f f] float32."""
    taps = np.zeros((factor, 3))
    for index in range(factor):
        place = (index + 0.5) / factor - 0.5
        taps[index, 1] = 1 - abs(place)
        taps[index, 2 if place > 0 else 0] = abs(place)
    luma = np.einsum("ia,jb->ijab", taps, taps)
    half = factor // 2
    chroma = luma.reshape(half, 2, half, 2, 3, 3).mean((1, 3))
    colour = yuv_matrix_of_signed_rgb()
    colour[:, 3] -= CODE_CENTRE
    colour /= CODE_SCALE
    kernels = [luma.reshape(-1, 1, 3, 3)] + [chroma.reshape(-1, 1, 3, 3)] * 2
    weight = [kernel * row[:3, None, None] for kernel, row in zip(kernels, colour)]
    bias = [np.full(len(kernel), row[3]) for kernel, row in zip(kernels, colour)]
    return np.concatenate(weight).astype(np.float32), np.concatenate(bias).astype(np.float32)

"""What both halves of the model are built of."""

import torch
from torch import nn


class Block(nn.Module):
    """Residual convolution over a sequence [B, C, T]; places past an end stay zero."""

    def __init__(self, width: int, kernel: int, dilation: int = 1):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.mix = nn.Conv1d(width, width, kernel, padding=dilation * (kernel // 2), dilation=dilation)

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        normal = self.norm(x.transpose(1, 2)).transpose(1, 2) * mask
        return x + nn.functional.gelu(self.mix(normal), approximate="tanh") * mask


class Stack(nn.Module):
    """Blocks one behind the other, a norm at the end."""

    def __init__(self, width: int, kernel: int, dilations: tuple[int, ...]):
        super().__init__()
        self.blocks = nn.ModuleList(Block(width, kernel, dilation) for dilation in dilations)
        self.norm = nn.LayerNorm(width)

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """[B, C, T] to [B, T, C]."""
        for block in self.blocks:
            x = block(x, mask)
        return self.norm(x.transpose(1, 2))

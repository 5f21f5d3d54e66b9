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


class Outlook(nn.Module):
    """Residual attention: every place of a sequence [B, C, T] looks at all others. Begins at nothing."""

    def __init__(self, width: int, heads: int = 4):
        super().__init__()
        self.heads = heads
        self.norm = nn.LayerNorm(width)
        self.ask = nn.Linear(width, 3 * width)
        self.answer = nn.Linear(width, width)
        nn.init.zeros_(self.answer.weight)

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        rows = self.norm(x.transpose(1, 2))
        asked = self.ask(rows).reshape(x.shape[0], -1, 3, self.heads, x.shape[1] // self.heads).permute(2, 0, 3, 1, 4)
        query, key, value = asked[0], asked[1], asked[2]
        scores = query @ key.transpose(2, 3) * key.shape[3] ** -0.5 + (mask[:, None] - 1) * 1e4
        seen = (scores.softmax(3) @ value).transpose(1, 2).reshape(rows.shape)
        return x + self.answer(seen).transpose(1, 2) * mask

"""A small text encoder: a table of token vectors and layers that look at the neighbours and at the whole."""

import torch
from torch import nn
from torch.nn import functional as F


class ContextLayer(nn.Module):
    """Adds to every token what its two neighbours and the tokens of the row make of it.

    There are no positions, so a text of any length is read; its order is known from the neighbours.
    Both parts begin at zero: a fresh layer changes nothing.
    """

    def __init__(self, width: int, inner: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.attention_norm, self.mixing_norm = nn.LayerNorm(width), nn.LayerNorm(width)
        self.query, self.key = nn.Linear(width, inner // 2), nn.Linear(width, inner // 2)
        self.value, self.back = nn.Linear(width, inner), nn.Linear(inner, width)
        self.mix, self.out = nn.Linear(3 * width, inner), nn.Linear(inner, width)
        for last in (self.back, self.out):
            nn.init.zeros_(last.weight)
            nn.init.zeros_(last.bias)

    def forward(self, hidden: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """hidden [B, L, W], mask [B, L] of ones and zeros -> [B, L, W]."""
        hidden = hidden + self.attend(self.attention_norm(hidden), mask)
        normed = self.mixing_norm(hidden) * mask.unsqueeze(2)
        before, after = F.pad(normed, (0, 0, 1, 0))[:, :-1], F.pad(normed, (0, 0, 0, 1))[:, 1:]
        return hidden + self.out(F.gelu(self.mix(torch.cat([before, normed, after], 2)), approximate="tanh"))

    def attend(self, normed: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Self-attention within the rows."""
        query, key, value = (self.split(part(normed)) for part in (self.query, self.key, self.value))
        scores = query @ key.transpose(2, 3) * query.shape[3] ** -0.5
        weights = (scores + (mask[:, None, None] - 1) * 1e4).softmax(3)
        return self.back((weights @ value).transpose(1, 2).flatten(2))

    def split(self, values: torch.Tensor) -> torch.Tensor:
        """[B, L, N] -> [B, heads, L, N / heads]."""
        return values.unflatten(2, (self.heads, -1)).transpose(1, 2)


class TextEncoder(nn.Module):
    """Token ids to one vector of unit length; the length of a token's vector is its weight."""

    def __init__(self, vocabulary: int, width: int, inner: int, layers: int, heads: int = 4) -> None:
        super().__init__()
        self.table = nn.Embedding(vocabulary, width)
        self.layers = nn.ModuleList(ContextLayer(width, inner, heads) for _ in range(layers))

    def tokens(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """ids, mask [B, L] -> vectors of the tokens [B, L, W], zero where there is padding."""
        hidden = self.table(ids)
        for layer in self.layers:
            hidden = layer(hidden, mask)
        return hidden * mask.unsqueeze(2)

    def forward(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """ids, mask [B, L] -> sentence vectors [B, W] of unit length."""
        return unit(self.tokens(ids, mask).sum(1))


def unit(vectors: torch.Tensor) -> torch.Tensor:
    """Rows of length 1; zeros stay zeros."""
    return vectors * (vectors.square().sum(-1, keepdim=True) + 1e-12).rsqrt()

"""Thirteen judges over one small encoder."""

import torch
from torch import nn
from torch.nn import functional as F
from training_kit.encoder import ContextLayer


class Judges(nn.Module):
    """Some judges over one table: the mean of what they say."""

    def __init__(self, judges: list["Judge"]) -> None:
        super().__init__()
        self.table = judges[0].table
        for judge in judges:
            del judge.table
        self.judges = nn.ModuleList(judges)

    def forward(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """int64 [B, L] each -> logits [B, categories]."""
        vectors = self.table(ids)
        return torch.stack([judge.read(vectors, mask.float()) for judge in self.judges]).mean(0)


class Judge(nn.Module):
    """Each category looks for its own tokens and weighs what they say."""

    def __init__(self, vocabulary: int, width: int, inner: int, layers: int, categories: int, heads: int = 4) -> None:
        super().__init__()
        self.table = nn.Embedding(vocabulary, width)
        self.layers = nn.ModuleList(ContextLayer(width, inner, heads) for _ in range(layers))
        self.norm, self.drop = nn.LayerNorm(width), nn.Dropout(0.2)
        self.look = nn.Linear(width, categories)
        self.weigh = nn.Linear(width, categories)
        self.overall = nn.Linear(width, categories)
        nn.init.constant_(self.weigh.bias, -2.0)

    def forward(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """int64 [B, L] each -> logits [B, categories]."""
        return self.read(self.table(ids), mask.float())

    def read(self, vectors: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Vectors of the tokens [B, L, W] -> logits."""
        hidden = vectors * vectors.shape[2] ** 0.5
        for layer in self.layers:
            hidden = self.drop(layer(hidden, mask))
        hidden = self.drop(self.norm(hidden))
        attention = (self.look(hidden) + (mask.unsqueeze(2) - 1) * 1e4).softmax(1)
        mean = (hidden * mask.unsqueeze(2)).sum(1) / mask.sum(1, keepdim=True)
        return (attention * self.weigh(hidden)).sum(1) + self.overall(F.gelu(mean, approximate="tanh"))

"""Query and passage in one row: soft matches between the two, then layers over both."""

import torch
from torch import nn
from training_kit.encoder import ContextLayer, unit

SPECIAL = 4
"""Ids below are structure and no text."""
CENTRES = (1.0, 0.85, 0.65, 0.45, 0.25)
"""Similarities that the soft counts look for (kernel pooling of Xiong et al., K-NRM, 2017)."""


class PairScorer(nn.Module):
    """Relevance of the second text of a row to the first, one logit.

    Every token is told how well the other text matches it: the best similarity and soft counts of
    similarities around five centres. What comes out before any training is the similarity of the two
    sums of token vectors.
    """

    def __init__(self, vocabulary: int, width: int, inner: int, layers: int, heads: int = 4) -> None:
        super().__init__()
        self.table = nn.Embedding(vocabulary, width)
        self.importance = nn.Embedding(vocabulary, 1)
        features = len(CENTRES) + 2
        self.told = nn.Linear(features, width)
        self.side = nn.Parameter(torch.zeros(2, width))
        self.layers = nn.ModuleList(ContextLayer(width, inner, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.judge = nn.Sequential(nn.Linear(3 * width + 2 * features + 1, inner), nn.GELU("tanh"), nn.Linear(inner, 1))
        self.slope, self.bias = nn.Parameter(torch.tensor(10.0)), nn.Parameter(torch.tensor(-4.0))
        nn.init.zeros_(self.told.weight)
        nn.init.zeros_(self.judge[2].weight)
        nn.init.zeros_(self.importance.weight)

    def forward(self, ids: torch.Tensor, mask: torch.Tensor, types: torch.Tensor) -> torch.Tensor:
        """int64 [B, L] each, types 0 for the query and 1 for the passage -> logits [B, 1]."""
        vectors = self.table(ids)
        words = (ids >= SPECIAL).float()
        sides = torch.stack([words * (1 - types.float()), words * types.float()], 2)
        sums = unit(sides.transpose(1, 2) @ vectors)
        nearness = (sums[:, 0] * sums[:, 1]).sum(1, keepdim=True)
        matches = self.matches(vectors, sides)
        hidden = unit(vectors) + self.told(matches) + sides @ self.side
        for layer in self.layers:
            hidden = layer(hidden, mask.float())
        weights = sides * self.importance(ids).exp()
        shares = (weights / (weights.sum(1, keepdim=True) + 1e-6)).transpose(1, 2)
        pooled = shares @ self.norm(hidden)
        evidence = torch.cat([pooled.flatten(1), pooled[:, 0] * pooled[:, 1], (shares @ matches).flatten(1), nearness], 1)
        return self.slope * nearness + self.bias + self.judge(evidence)

    def matches(self, vectors: torch.Tensor, sides: torch.Tensor) -> torch.Tensor:
        """[B, L, W], [B, L, 2] -> [B, L, 7]: of each token against the other text."""
        directions = unit(vectors)
        other = sides @ sides.flip(2).transpose(1, 2)
        similarity = directions @ directions.transpose(1, 2)
        best = (similarity * other + (other - 1)).amax(2, keepdim=True)
        counts = [
            ((similarity - centre).square() * (-50.0 if centre < 1 else -5000.0)).exp() * other for centre in CENTRES
        ]
        soft = torch.stack([count.sum(2) for count in counts], 2)
        lengths = vectors.square().sum(2, keepdim=True)
        return torch.cat([best.clamp_min(-1), soft.log1p(), lengths], 2)

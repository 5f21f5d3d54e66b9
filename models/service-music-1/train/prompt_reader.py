"""Prompt -> what the piece is to be: a distribution of each attribute."""

import torch
from torch import nn
from torch.nn import functional as F

from . import vocabulary as v
from .tokenizer import BUCKETS

WIDTH, SLOT_WIDTH = 64, 64
HEADS = {
    "tempo": v.BPM_BINS, "tonic": 12, "mode": 2, "genre": len(v.GENRES), "meter": 2, "energy": 3,
}  # fmt: skip
OUTPUTS = [*HEADS, "wishes"]


class PromptReader(nn.Module):
    """Hashed ids -> logits of tempo bins, tonic, mode, genre, metre, energy, and a wish per instrument."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(BUCKETS, WIDTH, padding_idx=0)
        nn.init.normal_(self.embedding.weight, std=0.3)
        self.embedding.weight.data[0] = 0
        self.blocks = nn.ModuleList([WordBlock() for _ in range(2)])
        slots = len(HEADS) + len(v.NAMED)
        self.queries = nn.Parameter(torch.randn(slots, WIDTH) * 0.3)
        self.norm = nn.LayerNorm(WIDTH)
        self.key_value = nn.Linear(WIDTH, WIDTH + SLOT_WIDTH)
        self.mean = nn.Linear(WIDTH, SLOT_WIDTH)
        self.inner = nn.ModuleList([nn.Linear(2 * SLOT_WIDTH, 96) for _ in HEADS])
        self.heads = nn.ModuleList([nn.Linear(96, count) for count in HEADS.values()])
        self.wish = nn.Parameter(torch.randn(len(v.NAMED), SLOT_WIDTH, len(v.WISHES)) * 0.1)

    def forward(self, input_ids: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """input_ids [B, 40, 8] int64, 0 = none -> logits [B, classes] of HEADS, wishes [B, 15, 3]."""
        present = (input_ids[:, :, 0] != 0).float()
        count = (input_ids != 0).float().sum(2, keepdim=True).clamp(min=1)
        words = self.embedding(input_ids).sum(2) / count.sqrt()
        for block in self.blocks:
            words = block(words, present)
        normed = self.norm(words)
        keys, values = self.key_value(normed).split([WIDTH, SLOT_WIDTH], 2)
        scores = (self.queries[None] @ keys.transpose(1, 2)) * WIDTH**-0.5 + (present[:, None] - 1) * 30
        scores = torch.cat([scores, torch.zeros_like(scores[:, :, :1])], 2)
        slots = torch.softmax(scores, 2)[..., :-1] @ values
        total = present.sum(1, keepdim=True).clamp(min=1)
        whole = self.mean((normed * present[..., None]).sum(1) / total)
        found = []
        for at, (inner, head) in enumerate(zip(self.inner, self.heads, strict=True)):
            found.append(head(F.gelu(inner(torch.cat([slots[:, at], whole], 1)))))
        wishes = torch.einsum("bik,ikw->biw", slots[:, len(HEADS) :], self.wish)
        return *found, wishes


class WordBlock(nn.Module):
    """Five-word convolution, then a feed-forward layer, both residual."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.neighbours = nn.Conv1d(WIDTH, WIDTH, 5, padding=2)
        self.feed_forward = nn.Sequential(
            nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 2 * WIDTH), nn.GELU(), nn.Linear(2 * WIDTH, WIDTH)
        )

    def forward(self, words: torch.Tensor, present: torch.Tensor) -> torch.Tensor:
        """words [B, 40, 64], present [B, 40] 0 or 1."""
        hidden = self.norm(words) * present[..., None]
        words = words + self.neighbours(hidden.transpose(1, 2)).transpose(1, 2)
        return words + self.feed_forward(words)

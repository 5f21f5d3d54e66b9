"""Prompt -> eight attribute slots. Trained as an attribute classifier, then frozen."""

import torch
from torch import nn
from torch.nn import functional as F

from .shapes import PROMPT_WORDS, SLOT_WIDTH, SLOTS, VOCABULARY

WIDTH = 96


class TextEncoder(nn.Module):
    """Hashed word and 4-gram ids -> slots, one per attribute of the scene."""

    def __init__(self, class_counts: list[int], layers: int = 2):
        """class_counts: classes of each slot, without the extra class "unspecified"."""
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, WIDTH, padding_idx=0)
        self.position = nn.Parameter(torch.randn(1, PROMPT_WORDS, WIDTH) * 0.05)
        self.blocks = nn.ModuleList([WordBlock() for _ in range(layers)])
        self.slot_queries = nn.Parameter(torch.randn(SLOTS, WIDTH) * 0.3)
        self.norm = nn.LayerNorm(WIDTH)
        self.key_value = nn.Linear(WIDTH, 2 * WIDTH)
        self.project = nn.Linear(WIDTH, SLOT_WIDTH)
        self.mix = nn.Sequential(
            nn.Linear(SLOT_WIDTH * SLOTS, SLOT_WIDTH * SLOTS),
            nn.GELU(),
            nn.Linear(SLOT_WIDTH * SLOTS, SLOT_WIDTH * SLOTS),
        )
        self.heads = nn.ModuleList([nn.Linear(SLOT_WIDTH, count + 1) for count in class_counts])
        for index, count in enumerate(class_counts):
            self.register_buffer(f"table_{index}", torch.zeros(count + 1, SLOT_WIDTH))
        nn.init.normal_(self.embedding.weight, std=0.3)
        self.embedding.weight.data[0] = 0

    def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
        """input_ids [B, 32, 10] int64, 0 = none -> slots [B, 8, 48]: class vectors by their likelihood."""
        scores = self.logits(self.read(input_ids))
        mixed = [torch.softmax(item, 1) @ table for item, table in zip(scores, self.tables())]
        return torch.stack(mixed, 1)

    def tables(self) -> list[torch.Tensor]:
        """Vectors [classes + 1, 48] of each slot's classes; the last is "unspecified"."""
        return [getattr(self, f"table_{index}") for index in range(len(self.heads))]

    def read(self, input_ids: torch.Tensor) -> torch.Tensor:
        """input_ids -> what was read for each slot [B, 8, 48]."""
        present = (input_ids[:, :, 0] != 0).float()
        count = (input_ids != 0).float().sum(2, keepdim=True).clamp(min=1)
        words = self.embedding(input_ids).sum(2) / count.sqrt() + self.position * present[..., None]
        for block in self.blocks:
            words = block(words, present)
        slots = self.project(self._attend(words, present))
        slots = slots + self.mix(slots.reshape(-1, SLOTS * SLOT_WIDTH)).reshape(-1, SLOTS, SLOT_WIDTH)
        return F.layer_norm(slots, (SLOT_WIDTH,))

    def logits(self, slots: torch.Tensor) -> list[torch.Tensor]:
        """Class scores [B, classes + 1] of each slot; the last class is "unspecified"."""
        return [head(slots[:, i]) for i, head in enumerate(self.heads)]

    def _attend(self, words: torch.Tensor, present: torch.Tensor) -> torch.Tensor:
        """Slot queries over the words [B, 32, 96], with one empty key for absent attributes."""
        key, value = self.key_value(self.norm(words)).chunk(2, 2)
        scores = (self.slot_queries[None] @ key.transpose(1, 2)) * WIDTH**-0.5
        scores = scores + (present[:, None] - 1) * 30
        scores = torch.cat([scores, torch.zeros_like(scores[:, :, :1])], 2)
        return torch.softmax(scores, 2)[..., :-1] @ value


class WordBlock(nn.Module):
    """Three-word convolution, then a feed-forward layer, both residual."""

    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.neighbours = nn.Linear(3 * WIDTH, WIDTH)
        self.feed_forward = nn.Sequential(
            nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 2 * WIDTH), nn.GELU(), nn.Linear(2 * WIDTH, WIDTH)
        )

    def forward(self, words: torch.Tensor, present: torch.Tensor) -> torch.Tensor:
        """words [B, 32, 96], present [B, 32] 0 or 1."""
        hidden = self.norm(words) * present[..., None]
        edge = torch.zeros_like(hidden[:, :1])
        before = torch.cat([edge, hidden[:, :-1]], 1)
        after = torch.cat([hidden[:, 1:], edge], 1)
        words = words + self.neighbours(torch.cat([before, hidden, after], 2))
        return words + self.feed_forward(words)

"""Prompt -> eight attribute slots, each one class. Trained as an attribute classifier, then frozen."""

import torch
from torch import nn
from torch.nn import functional as F

from .shapes import PROMPT_WORDS, SLOT_WIDTH, SLOTS, VOCABULARY
from .vocabulary import SAYINGS, SUBJECTS

WIDTH = 96


NAMES = [name for name, _ in SAYINGS]
OF_SUBJECT = ("colour", "motion", "size")
"""Slots that say nothing where there is no subject."""
LEAST_LIKELIHOOD = 0.5
"""A subject less likely than this counts as unknown."""
FIRST_EMPTY = SUBJECTS.index("none")
"""Subjects from here on show nothing: "none", "unknown"."""


class TextEncoder(nn.Module):
    """Hashed word and 4-gram ids -> slots, one per attribute of the scene.

    Each slot is the vector of one class, so that no scene is ever asked to be two things.
    """

    def __init__(self, layers: int = 2):
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
        counts = [len(values) + 1 for _, values in SAYINGS]
        self.heads = nn.ModuleList([nn.Linear(SLOT_WIDTH, count) for count in counts])
        for index, count in enumerate(counts):
            self.register_buffer(f"table_{index}", torch.zeros(count, SLOT_WIDTH))
        nn.init.normal_(self.embedding.weight, std=0.3)
        self.embedding.weight.data[0] = 0

    def forward(self, input_ids: torch.Tensor):
        """input_ids [B, 32, 10] int64, 0 = none -> slots [B, 8, 48], and the likelihoods [B] that the prompt
        names a subject and a setting which are not of this world."""
        scores = dict(zip(NAMES, self.logits(self.read(input_ids))))
        unknown = []
        for name in ("subject", "setting"):
            likelihoods = torch.softmax(scores[name], 1)
            unknown.append(likelihoods[:, dict(SAYINGS)[name].index("unknown")])
        chosen = {name: item.argmax(1) for name, item in scores.items()}
        doubtful = torch.softmax(scores["subject"], 1).amax(1) < LEAST_LIKELIHOOD
        chosen["subject"] = torch.where(doubtful, FIRST_EMPTY + 1, chosen["subject"])
        is_empty = (chosen["subject"] == FIRST_EMPTY) | (chosen["subject"] == FIRST_EMPTY + 1)
        for name in OF_SUBJECT:
            chosen[name] = torch.where(is_empty, scores[name].shape[1] - 1, chosen[name])
        slots = [table[index] for table, index in zip(self.tables(), chosen.values())]
        return torch.stack(slots, 1), *unknown

    def tables(self) -> list[torch.Tensor]:
        """Vectors [classes + 1, 48] of each slot's classes, as vocabulary.SAYINGS; the last is "unspecified"."""
        return [getattr(self, f"table_{index}") for index in range(len(self.heads))]

    def read(self, input_ids: torch.Tensor) -> torch.Tensor:
        """input_ids -> what was read for each slot [B, 8, 48]."""
        present = (input_ids[:, :, 0] != 0).float()
        count = (input_ids != 0).float().sum(2, keepdim=True).clamp(min=1)
        words = self.embedding(input_ids).sum(2) / count.sqrt()
        words = words + self.position[:, : input_ids.shape[1]] * present[..., None]
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

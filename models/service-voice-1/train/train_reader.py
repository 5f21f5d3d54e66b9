"""Trains the reader on aligned spellings."""

import pathlib

import numpy as np
import torch
from torch.nn import functional

from .reader import Reader
from .symbols import CHARACTER_IDS
from .training import batches_of, padded, train

BATCH = 2600
"""Characters."""
HELD = 300
"""Texts that are not trained on."""


class Spellings:
    """Texts of spellings.npz by index."""

    def __init__(self, folder: pathlib.Path):
        data = np.load(folder / "spellings.npz")
        self.characters, self.sounds, self.starts = (data[k] for k in ("characters", "sounds", "starts"))
        self.counts = data["counts"]
        self.ends = np.cumsum(self.counts)

    def batch(self, indexes: np.ndarray):
        """Characters [B, L], sounds [B, L, SLOTS], starts, mask [B, L]."""
        spans = [slice(self.ends[i] - self.counts[i], self.ends[i]) for i in indexes]
        characters = padded([self.characters[span] for span in spans]).long()
        sounds = padded([self.sounds[span] for span in spans]).long()
        starts = padded([self.starts[span] for span in spans]).float()
        mask = padded([np.ones(self.counts[i], np.float32) for i in indexes])
        return characters, sounds, starts, mask


def train_reader(folder: pathlib.Path, epochs: int, width: int) -> Reader:
    """epochs: over all texts."""
    torch.manual_seed(4)
    data = Spellings(folder)
    reader = Reader(width)

    def loss_of(indexes: np.ndarray) -> torch.Tensor:
        characters, sounds, starts, mask = data.batch(indexes + HELD)
        scores, begins = reader(characters, mask)
        wrong = functional.cross_entropy(scores.float().flatten(0, 2), sounds.flatten(), reduction="none")
        heard = (sounds > 0).float()
        begun = functional.binary_cross_entropy_with_logits(begins.float(), starts, reduction="none") * heard
        return ((wrong.view_as(starts) + 0.3 * begun) * mask[:, :, None]).sum() / mask.sum()

    counts = data.counts[HELD:]
    train("reader", folder, reader, epochs, lambda epoch: batches_of(counts, BATCH, epoch), loss_of)
    print("reader: share of held-out words read right", check_reader(reader, data), flush=True)
    return reader


@torch.no_grad()
def check_reader(reader: Reader, data: Spellings) -> float:
    """Share of the words of the first texts, with the marks at them, whose every sound is right."""
    reader.eval()
    characters, sounds, _, mask = data.batch(np.arange(HELD))
    is_right = (reader(characters, mask)[0].argmax(3) == sounds).all(2)
    words = (characters == CHARACTER_IDS[" "]).cumsum(1) + 1000 * torch.arange(HELD)[:, None]
    read, missed = (len(words[places].unique()) for places in (mask > 0, (mask > 0) & ~is_right))
    return round(1 - missed / read, 4)

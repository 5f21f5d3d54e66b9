"""Trains the prompt reader on captions of random attributes. About three minutes of one core."""

import math
import pathlib
import random

import numpy as np
import torch
from torch.nn import functional as F

from . import vocabulary as v
from .attributes import draw_attributes
from .captions import HELD_OUT_BPM, write_caption
from .prompt_reader import HEADS, PromptReader
from .tokenizer import tokenize
from .training import train

BATCH, RATE, SPREAD_BINS = 192, 2.5e-3, 0.8


def train_prompt_reader(folder: pathlib.Path, steps: int, seed: int = 5) -> None:
    """Writes prompt-reader.pt."""
    torch.manual_seed(seed)
    model, pool = PromptReader(), CaptionPool(seed)

    def loss_of(step: int) -> torch.Tensor:
        ids, targets = pool.batch(step)
        *given, wishes = model(ids)
        loss = F.cross_entropy(wishes.reshape(-1, 3), targets["wishes"].reshape(-1)) * 6
        for name, logits in zip(HEADS, given, strict=True):
            loss = loss + F.cross_entropy(logits, targets[name])
        return loss

    train(folder, "prompt-reader", model, loss_of, steps, RATE)


class CaptionPool:
    """Fresh captions, a batch for each step."""

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def batch(self, step: int) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        """ids [192, 40, 8] and targets of HEADS, wishes [192, 15]."""
        rng = random.Random(self.seed * 1_000_003 + step)
        ids, rows = [], []
        for _ in range(BATCH):
            attributes = draw_attributes(rng)
            if attributes.bpm % 11 == HELD_OUT_BPM:
                attributes.bpm += 1
            caption = write_caption(attributes, rng)
            ids.append(tokenize(caption.text))
            rows.append((attributes, caption.wishes))
        return torch.from_numpy(np.stack(ids)), make_targets(rows)


def make_targets(rows: list) -> dict[str, torch.Tensor]:
    """What each head should say; the tempo as a narrow hill over the bins."""
    tempo = torch.tensor([math.log(a.bpm / v.LOWEST_BPM) / v.BPM_STEP for a, _ in rows])
    hill = torch.exp(-0.5 * ((torch.arange(v.BPM_BINS) - tempo[:, None]) / SPREAD_BINS) ** 2)
    return {
        "tempo": hill / hill.sum(1, keepdim=True),
        "tonic": torch.tensor([a.tonic for a, _ in rows]),
        "mode": torch.tensor([v.MODES.index(a.mode) for a, _ in rows]),
        "genre": torch.tensor([v.GENRES.index(a.genre) for a, _ in rows]),
        "meter": torch.tensor([v.METERS.index(a.meter) for a, _ in rows]),
        "energy": torch.tensor([v.ENERGIES.index(a.energy) for a, _ in rows]),
        "wishes": torch.tensor([wishes for _, wishes in rows]),
    }

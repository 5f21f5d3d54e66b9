"""Trains the text encoder to name the attributes that a caption states. About four minutes."""

import math
import pathlib
import random

import numpy as np
import torch
from torch.nn import functional as F

from .captions import write_caption
from .checkpoints import MAKERS, save_part
from .scenes import sample_scene
from .tokenizer import tokenize
from .vocabulary import SLOTS

BATCH = 256
LEARNING_RATE = 2.5e-3


def train_text_encoder(folder: pathlib.Path, steps: int, seed: int = 5) -> None:
    """Writes text-encoder.pt."""
    torch.manual_seed(seed)
    rng, encoder = random.Random(seed), MAKERS["text-encoder"]()
    optimiser = torch.optim.AdamW(encoder.parameters(), lr=LEARNING_RATE, weight_decay=0.01)
    for step in range(steps):
        for group in optimiser.param_groups:
            decay = 0.5 + 0.5 * math.cos(math.pi * step / steps)
            group["lr"] = LEARNING_RATE * min(1, step / 50) * decay + 1e-5
        ids, classes = caption_batch(rng)
        logits = encoder.logits(encoder(ids))
        loss = sum(F.cross_entropy(scores, classes[:, i]) for i, scores in enumerate(logits))
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        if (step + 1) % 100 == 0:
            hits = [
                (scores.argmax(1) == classes[:, i]).float().mean().item() for i, scores in enumerate(logits)
            ]
            print(step + 1, f"loss {loss.item():.3f} accuracy {np.round(hits, 3).tolist()}", flush=True)
    save_part(folder, "text-encoder", encoder)


def caption_batch(rng: random.Random):
    """-> ids [B, 32, 10], classes [B, 8]; attributes left open get the last class."""
    ids, classes = [], []
    for index in range(BATCH):
        scene = sample_scene(rng)
        caption, stated = write_caption(scene, rng) if index > 1 else ("", set())
        ids.append(tokenize(caption))
        classes.append([v.index(scene[name]) if name in stated else len(v) for name, v in SLOTS])
    return torch.from_numpy(np.stack(ids)), torch.tensor(classes)

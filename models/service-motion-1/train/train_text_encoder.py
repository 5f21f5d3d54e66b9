"""Trains the text encoder to name the attributes that a caption states. Resumable.

First on the grammar's words; what the slots then mean on average becomes the classes' vectors. Then
on WordNet's words too: a word's own meaning and its kinds name the same attribute.
"""

import math
import pathlib

import numpy as np
import torch
from torch.nn import functional as F

from .captions import Chooser, write_caption
from .checkpoints import MAKERS, save_part, save_state
from .lexicon import more_words
from .scenes import sample_scene
from .tokenizer import tokenize
from .vocabulary import SLOTS

BATCH = 192
LEARNING_RATE = 2.5e-3
MORE_LEARNING_RATE = 2e-3
TABLE_BATCHES = 16
SAVE_EVERY = 50


def train_text_encoder(folder: pathlib.Path, steps: int, more_steps: int, seed: int = 5) -> None:
    """Writes text-encoder-1.pt (the grammar alone), then text-encoder.pt."""
    torch.manual_seed(seed)
    if not (folder / "text-encoder-1.pt").exists():
        encoder = MAKERS["text-encoder"]()
        learn(folder / "text-encoder-state-1.pt", encoder, Chooser(seed), steps, LEARNING_RATE)
        fill_tables(encoder, Chooser(seed + 1))
        save_part(folder, "text-encoder-1", encoder)
    encoder = MAKERS["text-encoder"]()
    encoder.load_state_dict(torch.load(folder / "text-encoder-1.pt"))
    rng = Chooser(seed + 2)
    rng.more = more_words()
    learn(folder / "text-encoder-state-2.pt", encoder, rng, more_steps, MORE_LEARNING_RATE)
    save_part(folder, "text-encoder", encoder)


def learn(path, encoder, rng, steps, rate):
    """Steps of the classifier; the state at path is written every 50 steps and read back."""
    optimiser = torch.optim.AdamW(encoder.parameters(), lr=rate, weight_decay=0.01)
    done = 0
    if path.exists():
        state = torch.load(path)
        encoder.load_state_dict(state["encoder"])
        optimiser.load_state_dict(state["optimiser"])
        done = state["step"]
        rng.seed(done)
    for step in range(done, steps):
        for group in optimiser.param_groups:
            decay = 0.5 + 0.5 * math.cos(math.pi * step / steps)
            group["lr"] = rate * min(1, (step + 1) / 50) * decay + 1e-5
        ids, classes = caption_batch(rng)
        logits = encoder.logits(encoder.read(ids))
        loss = sum(F.cross_entropy(scores, classes[:, i]) for i, scores in enumerate(logits))
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        if (step + 1) % SAVE_EVERY == 0:
            hits = [(s.argmax(1) == classes[:, i]).float().mean().item() for i, s in enumerate(logits)]
            shown = np.round(hits, 3).tolist()
            print(f"text {step + 1}/{steps} loss {loss.item():.3f} accuracy {shown}", flush=True)
            state = {"encoder": encoder.state_dict(), "optimiser": optimiser.state_dict()}
            save_state(path, state | {"step": step + 1})


@torch.no_grad()
def fill_tables(encoder, rng):
    """The vector of a class is the mean of what is read where a caption states it."""
    sums = [torch.zeros_like(table) for table in encoder.tables()]
    counts = [torch.zeros(len(table), 1) for table in encoder.tables()]
    for _ in range(TABLE_BATCHES):
        ids, classes = caption_batch(rng)
        slots = encoder.read(ids)
        for i, (total, count) in enumerate(zip(sums, counts)):
            total.index_add_(0, classes[:, i], slots[:, i])
            count.index_add_(0, classes[:, i], torch.ones(len(classes), 1))
    for table, total, count in zip(encoder.tables(), sums, counts):
        table.copy_(total / count.clamp(min=1))


def caption_batch(rng: Chooser):
    """-> ids [B, 32, 10], classes [B, 8]; attributes left open get the last class."""
    ids, classes = [], []
    for index in range(BATCH):
        scene = sample_scene(rng)
        caption, stated = write_caption(scene, rng) if index > 1 else ("", set())
        ids.append(tokenize(caption))
        classes.append([v.index(scene[name]) if name in stated else len(v) for name, v in SLOTS])
    return torch.from_numpy(np.stack(ids)), torch.tensor(classes)

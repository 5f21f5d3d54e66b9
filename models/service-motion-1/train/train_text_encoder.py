"""Trains the text encoder to name the attributes that a caption states. Resumable; about twenty core-minutes."""

import math
import pathlib
import time

import numpy as np
import torch
from torch.nn import functional as F
from training_kit.training import short_products

from .captions import OUTSIDE_SHARE, Chooser, write_caption
from .checkpoints import MAKERS, save_part, save_state
from .lexicon import more_words, outside_words
from .phrases import phrases
from .scenes import sample_scene
from .shapes import SLOT_WIDTH
from .text_encoder import FIRST_EMPTY, NAMES
from .tokenizer import tokenize
from .vocabulary import SAYINGS

BATCH = 256
LEARNING_RATE = 3e-3
SAVE_EVERY = 50


def train_text_encoder(folder: pathlib.Path, steps: int, seed: int = 5) -> None:
    """Writes text-encoder.pt, and text-encoder-state.pt every 50 steps.

    The vectors of the classes are those of class-vectors.pt, or chance's; they are not learned.
    """
    torch.manual_seed(seed)
    encoder = MAKERS["text-encoder"]()
    for table, vectors in zip(encoder.tables(), class_vectors(folder)):
        table.copy_(vectors)
    optimiser = torch.optim.AdamW(encoder.parameters(), lr=LEARNING_RATE, weight_decay=0.01)
    path, done = folder / "text-encoder-state.pt", 0
    if path.exists():
        state = torch.load(path)
        encoder.load_state_dict(state["encoder"])
        optimiser.load_state_dict(state["optimiser"])
        done = state["step"]
    rng, started = Chooser(seed + done), time.time()
    rng.more, rng.outside, rng.phrases = more_words(), outside_words(), phrases()
    for step in range(done, steps):
        for group in optimiser.param_groups:
            decay = 0.5 + 0.5 * math.cos(math.pi * step / steps)
            group["lr"] = LEARNING_RATE * min(1, (step + 1) / 100) * decay + 1e-5
        ids, classes = caption_batch(rng)
        with short_products():
            logits = encoder.logits(encoder.read(ids))
        loss = sum(F.cross_entropy(scores.float(), classes[:, i]) for i, scores in enumerate(logits))
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(encoder.parameters(), 2.0)
        optimiser.step()
        if (step + 1) % SAVE_EVERY == 0 or step + 1 == steps:
            hits = [(s.argmax(1) == classes[:, i]).float().mean().item() for i, s in enumerate(logits)]
            left = (time.time() - started) / (step + 1 - done) * (steps - step - 1)
            shown = np.round(hits, 2).tolist()
            print(f"text {step + 1}/{steps} {left:.0f}s left, loss {loss.item():.3f} accuracy {shown}", flush=True)
            state = {"encoder": encoder.state_dict(), "optimiser": optimiser.state_dict()}
            save_state(path, state | {"step": step + 1})
    save_part(folder, "text-encoder", encoder)


def class_vectors(folder: pathlib.Path) -> list[torch.Tensor]:
    """Of each slot [classes + 1, 48]; what is unknown has the vector of what it shows: nothing, or anything."""
    path = folder / "class-vectors.pt"
    if not path.exists():
        found = [F.layer_norm(torch.randn(len(values) + 1, SLOT_WIDTH), (SLOT_WIDTH,)) for _, values in SAYINGS]
        for name, shown in (("subject", FIRST_EMPTY), ("setting", -1)):
            table = found[NAMES.index(name)]
            table[dict(SAYINGS)[name].index("unknown")] = table[shown]
        save_state(path, found)
    return torch.load(path)


def caption_batch(rng: Chooser):
    """-> ids [B, words, 10], classes [B, 8]; attributes left open get the last class."""
    ids, classes = [], []
    for index in range(BATCH):
        scene = sample_scene(rng)
        if rng.random() < OUTSIDE_SHARE:
            scene["subject"] = "none"
        caption, said = write_caption(scene, rng) if index > 1 else ("", {})
        ids.append(tokenize(caption))
        classes.append(class_numbers(said))
    ids = np.stack(ids)
    longest = max(1, int((ids[:, :, 0] != 0).sum(1).max()))
    return torch.from_numpy(ids[:, :longest]), torch.tensor(classes)


def class_numbers(said: dict[str, str]) -> list[int]:
    """Number of the class that each slot gets."""
    return [values.index(said[name]) if name in said else len(values) for name, values in SAYINGS]

"""Trains the acoustic model: the phone of every step at once, and the phones in order (CTC)."""

import copy
import pathlib
import time

import numpy as np
import torch
from torch.nn import functional as F
from training_kit.training import short_products

from .acoustic_model import WIDTHS, AcousticModel, normalise
from .augment import Chunks
from .fit_front import fit_front
from .make_corpus import MINUTES
from .measure_phones import phone_errors
from .muon import Muon

BATCH = 32
MATRIX_RATE = 0.02
RATE = 2.5e-3
"""Of Muon and of AdamW."""
WARM_STEPS = 60
DECAY_SHARE = 0.3
"""Of the steps, the last in which the rate falls to nothing; before them more steps change nothing."""
CHECKPOINT_STEPS = 50
AVERAGE = 0.99
RECORDED = 0.5
"""Share of the chunks that people say."""


def train_acoustic(folder: pathlib.Path, steps: int, size: str) -> None:
    """Goes on from `acoustic.pt` (`aligner.pt` of that size); the averaged weights in it are the model."""
    path = weights_path(folder, size)
    state = torch.load(path) if path.exists() else None
    if state is not None and state["step"] >= steps:
        return
    torch.manual_seed(3)
    model = AcousticModel(*WIDTHS[size])
    corpus = load_corpus(folder)
    model.load_state_dict(fit_front(corpus, folder / "front.pt"), strict=False)
    average = copy.deepcopy(model).requires_grad_(False)
    optimisers = make_optimisers(model)
    done = 0
    if state is not None:
        done = state["step"]
        model.load_state_dict(state["model"])
        average.load_state_dict(state["average"])
        for optimiser, saved in zip(optimisers, state["optimisers"]):
            optimiser.load_state_dict(saved)
    chunks = Chunks(corpus, seed=1000 + done)
    began, first, sums = time.time(), done, np.zeros(3)
    for step in range(done, steps):
        losses = learn(model, optimisers, chunks, rate_at(step, steps))
        sums += losses
        blend(average, model, min(AVERAGE, (step + 1) / (step + 10)))
        if (step + 1) % CHECKPOINT_STEPS and step + 1 < steps:
            continue
        left = (time.time() - began) / (step + 1 - first) * (steps - step - 1)
        means = sums / CHECKPOINT_STEPS
        sums[:] = 0
        errors = phone_errors(average) if (step + 1) % (4 * CHECKPOINT_STEPS) == 0 else ""
        print(
            f"{path.stem} {step + 1}/{steps} loss {means[0]:.3f} {means[1]:.3f} right {means[2]:.3f} "
            f"{errors} {left / 60:.0f} min left",
            flush=True,
        )
        state = {"step": step + 1, "model": model.state_dict(), "average": average.state_dict()}
        save(path, {**state, "optimisers": [optimiser.state_dict() for optimiser in optimisers]})


def make_optimisers(model) -> list[torch.optim.Optimizer]:
    """Muon for the matrices of the layers, AdamW for the rest; `rate` remembers the full rate."""
    matrices = [weights for weights in model.layers.parameters() if weights.ndim == 2]
    chosen = {id(matrix) for matrix in matrices}
    others = [weights for weights in model.parameters() if id(weights) not in chosen]
    optimisers = [
        Muon(matrices, MATRIX_RATE),
        torch.optim.AdamW(others, lr=RATE, betas=(0.9, 0.98), weight_decay=0.01, fused=True),
    ]
    for optimiser in optimisers:
        for group in optimiser.param_groups:
            group["rate"] = group["lr"]
    return optimisers


def learn(model, optimisers, chunks, share: float) -> np.ndarray:
    """One step. Returns both losses a step of sound, and the share of steps that were right."""
    model.train()
    features, states, phones = chunks.batch(BATCH)
    frames = mask(normalise(torch.from_numpy(features).transpose(1, 2)))
    with short_products():
        spelling, framewise = model.hear(frames)
    wanted = torch.from_numpy(states)
    state_loss = F.nll_loss(framewise.flatten(0, 1), wanted.flatten())
    lengths = torch.tensor([len(sequence) for sequence in phones])
    targets = torch.from_numpy(np.concatenate(phones))
    steps = torch.full((len(features),), spelling.shape[1])
    summed = F.ctc_loss(spelling.transpose(0, 1), targets, steps, lengths, reduction="sum", zero_infinity=True)
    spelling_loss = summed / wanted.numel()
    for optimiser in optimisers:
        optimiser.zero_grad()
    (state_loss + spelling_loss).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 2.0)
    for optimiser in optimisers:
        for group in optimiser.param_groups:
            group["lr"] = group["rate"] * share
        optimiser.step()
    right = (framewise.argmax(-1) == wanted).float().mean()
    return np.array([state_loss.item(), spelling_loss.item(), right.item()])


def mask(frames):
    """A few bands are taken away (Park et al. 2019)."""
    for chunk in frames:
        for _ in range(2):
            width, at = np.random.randint(0, 9), np.random.randint(0, frames.shape[2] - 9)
            chunk[:, at : at + width] = 0
    return frames


def rate_at(step: int, steps: int) -> float:
    """Share of the full rate: warm-up, full, then down to nothing."""
    return min(1, (step + 1) / WARM_STEPS, (steps - step) / (DECAY_SHARE * steps))


@torch.no_grad()
def blend(average, model, keep: float) -> None:
    """Moves the running average; statistics of the norms too."""
    for old, new in zip(average.state_dict().values(), model.state_dict().values()):
        if old.dtype.is_floating_point:
            old.mul_(keep).add_(new, alpha=1 - keep)
        else:
            old.copy_(new)


def load_corpus(folder: pathlib.Path) -> list[dict]:
    """Every voice that was spoken and every source of recordings, each with its `share` of the chunks."""
    spoken, recorded = [], []
    for path in sorted(folder.glob("corpus-*.npz")):
        if not path.stem.endswith(".partial"):
            (spoken if path.stem.removeprefix("corpus-") in MINUTES else recorded).append(dict(np.load(path)))
    for shards, share in ((spoken, 1 - RECORDED if recorded else 1), (recorded, RECORDED)):
        frames = sum(len(shard["mel"]) for shard in shards)
        for shard in shards:
            shard["share"] = len(shard["mel"]) / frames * share
    return spoken + recorded


def load_acoustic(folder: pathlib.Path, size: str) -> AcousticModel:
    """The averaged model, ready for inference."""
    model = AcousticModel(*WIDTHS[size])
    model.load_state_dict(torch.load(weights_path(folder, size))["average"])
    return model.eval().requires_grad_(False)


def weights_path(folder: pathlib.Path, size: str) -> pathlib.Path:
    return folder / ("aligner.pt" if size == "aligner" else "acoustic.pt")


def save(path: pathlib.Path, state: dict) -> None:
    """Whole or not at all."""
    partial = path.with_suffix(".partial")
    torch.save(state, partial)
    partial.rename(path)

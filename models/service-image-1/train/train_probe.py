"""Trains the evaluation's probe on exactly painted stills. Resumable; about half an hour of one core."""

import pathlib
import time

import numpy as np
import torch
from motion.checkpoints import save_state
from torch.nn import functional as F
from training_kit.training import short_products

from .checkpoints import load_part, save_part
from .painted import cells_of, count_files, floats, load_painted
from .probe import ATTRIBUTES, COUNTS, GRID, OF_PICTURE, OF_SUBJECT, SIDE, Probe

BATCH = 64
LEARNING_RATE = 4e-3
SAVE_EVERY = 50
SHIFTS = (0.07, 0.12)
"""How far down and across a picture is moved at most while the probe learns, as shares of the picture."""
LEAST_SCALE, MOST_SCALE = 0.6, 1.35
"""Half of the pictures are scaled as well; what size a subject is said to have is not learned from those."""


def train_probe(folder: pathlib.Path, steps: int, seed: int = 9) -> None:
    """Writes probe.pt and probe-state.pt."""
    torch.manual_seed(seed)
    painted = load_painted(folder, range(1, count_files(folder)))
    probe, done = Probe().to(memory_format=torch.channels_last), 0
    optimiser = torch.optim.AdamW(probe.parameters(), lr=LEARNING_RATE, weight_decay=0.03)
    state_path = folder / "probe-state.pt"
    if state_path.exists():
        state = torch.load(state_path)
        probe.load_state_dict(state["probe"])
        optimiser.load_state_dict(state["optimiser"])
        done = state["step"]
    rng, started = np.random.default_rng(seed + done), time.time()
    for step in range(done, steps):
        for group in optimiser.param_groups:
            group["lr"] = LEARNING_RATE * min(1, (step + 1) / 30, 0.02 + 1.6 * (1 - step / steps))
        loss = probe_loss(probe, *batch_of(painted, rng))
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        optimiser.step()
        if (step + 1) % SAVE_EVERY == 0 or step + 1 == steps:
            left = (time.time() - started) / (step + 1 - done) * (steps - step - 1)
            print(f"probe {step + 1}/{steps} loss {loss.item():.3f}, {left:.0f}s left", flush=True)
            state = {"probe": probe.state_dict(), "optimiser": optimiser.state_dict(), "step": step + 1}
            save_state(state_path, state)
    fit_features(folder, probe)
    save_part(folder, "probe", probe)


def batch_of(painted, rng):
    """-> pictures [B, 3, 112, 112], widths, classes, cells, whether they are as large as they were;
    half of the batches are mirrored, every picture is moved."""
    pictures, widths, classes, centres = painted
    rows = rng.integers(0, len(pictures), BATCH)
    pixels, centres = disturbed(pictures[rows], rng), centres[rows]
    if rng.random() < 0.5:
        pixels, centres = pixels.flip(3), centres * torch.tensor([1, -1]) + torch.tensor([0, 1])
    pixels, centres, scales = moved(pixels, centres, rng)
    return pixels, widths[rows], classes[rows], cells_of(centres), scales == 1


def moved(pixels, centres, rng):
    """Scales pictures about their subjects and shifts them, borders repeated -> and where the subjects are
    then [B, 2], the scales [B]."""
    count, fixed = len(pixels), centres.nan_to_num(0.5)
    shifts = torch.from_numpy(rng.uniform(-1, 1, (count, 2)) * np.array(SHIFTS)).float()
    shifts = (fixed + shifts).clamp(0.04, 0.96) - fixed
    scales = torch.from_numpy(np.exp(rng.uniform(np.log(LEAST_SCALE), np.log(MOST_SCALE), count))).float()
    scales[::2] = 1
    start = 2 * fixed - 1
    offset = start - (start + 2 * shifts) / scales[:, None]
    turn = torch.zeros(count, 2, 3)
    turn[:, 0, 0] = turn[:, 1, 1] = 1 / scales
    turn[:, 0, 2], turn[:, 1, 2] = offset[:, 1], offset[:, 0]
    grid = F.affine_grid(turn, list(pixels.shape), align_corners=False)
    return F.grid_sample(pixels, grid, padding_mode="border", align_corners=False), centres + shifts, scales


def probe_loss(probe, pixels, widths, classes, cells, has_size):
    """Cross entropies: of the picture's attributes, of the subject's cell, and of its attributes there."""
    with short_products():
        inside, picture, where, _ = probe.look(pixels, widths)
    inside, picture, where = inside.float(), picture.float(), where.float()
    total, start = F.cross_entropy(where, cells), 0
    names = list(ATTRIBUTES)
    for name in OF_PICTURE:
        part = picture[:, start : start + COUNTS[name]]
        total = total + F.cross_entropy(part, classes[:, names.index(name)])
        start += COUNTS[name]
    shown = cells < GRID * GRID
    found, start = inside[shown][torch.arange(int(shown.sum())), :, cells[shown]], 0
    for name in names[len(OF_PICTURE) :]:
        part, right = found[:, start : start + COUNTS[name]], classes[shown, names.index(name)]
        told = has_size[shown] | (name != "size")
        total = total + F.cross_entropy(part[told], right[told])
        start += COUNTS[name]
    return total


def disturbed(pictures, rng) -> torch.Tensor:
    """A little blurred, tinted and noisy."""
    pixels = floats(pictures)
    if rng.random() < 0.25:
        soft = F.avg_pool2d(F.pad(pixels, (1, 1, 1, 1), mode="replicate"), 3, 1)
        pixels = pixels + (soft - pixels) * rng.uniform(0, 0.6)
    if rng.random() < 0.25:
        pixels = pixels + 0.012 * torch.randn_like(pixels)
    return pixels * (1 + 0.03 * torch.randn(len(pixels), 3, 1, 1))


def shows_subject(classes):
    """[B] bool"""
    subjects = ATTRIBUTES["subject"]
    return classes[:, list(ATTRIBUTES).index("subject")] != subjects.index("none")


@torch.no_grad()
def judge_probe(folder: pathlib.Path) -> dict[str, float]:
    """Share of right answers on stills that it never saw."""
    probe = load_part(folder, "probe")
    pictures, widths, classes, _ = load_painted(folder, [0])
    logits = torch.cat([probe(floats(p), w)[0] for p, w in zip(np.split(pictures, 10), widths.split(50))])
    hits, start, shown = {}, 0, shows_subject(classes)
    for index, (name, values) in enumerate(ATTRIBUTES.items()):
        right = logits[:, start : start + len(values)].argmax(1) == classes[:, index]
        hits[name] = float((right[shown] if name in OF_SUBJECT else right).float().mean())
        start += len(values)
    return hits


@torch.no_grad()
def fit_features(folder: pathlib.Path, probe: Probe) -> None:
    """Makes the features whitened principal components of the last hidden layer over painted stills."""
    probe.eval()
    found, kept = [], probe.squeeze
    probe.squeeze = torch.nn.Identity()
    for number in range(count_files(folder)):
        pictures, widths, *_ = load_painted(folder, [number])
        found += [probe(floats(p), w)[1] for p, w in zip(np.split(pictures, 10), widths.split(50))]
    probe.squeeze = kept
    hidden = torch.cat(found).double()
    mean = hidden.mean(0)
    values, vectors = torch.linalg.eigh(torch.cov((hidden - mean).T))
    count = len(kept.weight)
    basis = vectors[:, -count:] / values[-count:].clamp(min=1e-9).sqrt()
    kept.weight.copy_(basis.T)
    kept.bias.copy_(-(mean @ basis))

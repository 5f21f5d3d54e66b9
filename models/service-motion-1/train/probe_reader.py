"""The last part of the probe: learns from what the trained first parts see of every rendered clip."""

import pathlib

import numpy as np
import torch
from torch.nn import functional as F

from .probe import CELLS, REACH_X, REACH_Y, Probe, motion_costs
from .render_clips import count_files, load_rendered
from .vocabulary import SLOTS

ROUNDS, BATCH = 40, 128
LEARNING_RATE = 2e-3
SHAKE = (0.05, 0.04, 0.08, 0.15, 0.15, 0.1, 0.02, 0.02)
"""Deviations added to what is seen: generated tracks tremble, rendered ones do not."""
NAMES = [name for name, _ in SLOTS]
NONE = len(dict(SLOTS)["subject"]) - 1


def train_reader(folder: pathlib.Path, probe: Probe, seed: int = 10) -> None:
    """Trains probe.reader, then fits the features; probe: with the other parts trained."""
    torch.manual_seed(seed)
    parts = [observe_file(folder, probe, number) for number in range(1, count_files(folder))]
    parts += [mirrored(*part) for part in parts]
    seen, logits, hidden, costs, classes = (torch.cat(items) for items in zip(*parts))
    reader = probe.reader.train()
    optimiser = torch.optim.AdamW(reader.parameters(), lr=LEARNING_RATE, weight_decay=0.05)
    total = ROUNDS * (len(classes) // BATCH)
    for step in range(total):
        optimiser.param_groups[0]["lr"] = LEARNING_RATE * min(1, 0.01 + 1.3 * (1 - step / total))
        rows = torch.randint(0, len(classes), (BATCH,))
        shaken = seen[rows] + torch.tensor(SHAKE) * torch.randn_like(seen[rows])
        found, _ = reader(shaken, logits[rows], costs[rows] * (1 + 0.05 * torch.randn_like(costs[rows])))
        loss = reader_loss(found, classes[rows])
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        optimiser.step()
        if (step + 1) % (total // 10) == 0:
            print(f"reader {step + 1}/{total} loss {loss.item():.3f}", flush=True)
    reader.eval()
    with torch.no_grad():
        last = reader(seen, logits, costs)[1]
    fit_features(probe, torch.cat([hidden, last], 1))


def reader_loss(found, classes):
    """Cross entropies of camera, and of motion and size where there is a subject."""
    shown = classes[:, NAMES.index("subject")] != NONE
    total = 0
    for name, part in zip(("motion", "camera", "size"), found.split([7, 5, 3], 1)):
        loss = F.cross_entropy(part, classes[:, NAMES.index(name)], reduction="none")
        kept = torch.ones_like(shown) if name == "camera" else shown
        total = total + (loss * kept).sum() / kept.sum()
    return total


def mirrored(seen, logits, hidden, costs, classes):
    """Left for right."""
    rows, columns = 2 * REACH_Y + 1, 2 * REACH_X + 1
    cells = costs[:, :, :-1].unflatten(2, CELLS).flip(3).flatten(2, 3)
    costs = torch.cat([cells, costs[:, :, -1:]], 2).unflatten(3, (rows, columns)).flip(4).flatten(3)
    classes = classes.clone()
    for name in ("motion", "camera"):  # of both, 1 and 2 are opposite
        column = classes[:, NAMES.index(name)]
        classes[:, NAMES.index(name)] = torch.where((column == 1) | (column == 2), 3 - column, column)
    return seen * torch.tensor([-1, 1, 1, -1, 1, -1, 1, 1]), logits, hidden, costs, classes


@torch.no_grad()
def observe_file(folder, probe, number):
    """What the probe sees of the clips of a file: seen, logits, hidden, costs, and the classes."""
    (frames,), classes, _ = load_rendered(folder, [number])
    found = []
    for start in range(0, len(frames), 25):
        pixels = torch.from_numpy(np.array(frames[start : start + 25])).permute(0, 1, 4, 2, 3).float() / 255
        _, seen, logits, hidden = probe.observe(pixels)
        found.append((seen, logits, hidden, motion_costs(pixels)))
    print(f"observed file {number}", flush=True)
    return *(torch.cat(items) for items in zip(*found)), torch.from_numpy(classes)


@torch.no_grad()
def fit_features(probe: Probe, hidden) -> None:
    """Makes the features whitened principal components of hidden values [n, 384] of rendered clips."""
    hidden = hidden.double()
    mean, count = hidden.mean(0), len(probe.squeeze.weight)
    values, vectors = torch.linalg.eigh(torch.cov((hidden - mean).T))
    basis = vectors[:, -count:] / values[-count:].clamp(min=1e-9).sqrt()
    probe.squeeze.weight.copy_(basis.T)
    probe.squeeze.bias.copy_(-(mean @ basis))

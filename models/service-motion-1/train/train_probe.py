"""Trains the evaluation's probe on exact renders. Resumable; about twenty core-minutes."""

import pathlib
import time

import numpy as np
import torch
from torch.nn import functional as F
from training_kit.training import short_products

from .checkpoints import load_part, save_part, save_state
from .probe import COLUMNS, FRAMES, OF_PICTURE, ROWS, TYPICAL_SIZE, Probe, crop
from .probe_reader import train_reader
from .render_clips import CLIPS_PER_FILE, count_files, load_rendered
from .vocabulary import SLOTS

BATCH, LOOKS = 32, 3
"""Clips of a step, and frames of each."""
LEARNING_RATE = 3e-3
SAVE_EVERY = 50
NAMES = [name for name, _ in SLOTS]
NONE = len(dict(SLOTS)["subject"]) - 1
OF_SUBJECT = ("colour", "motion", "size")
"""Attributes that an empty scene does not show."""


def train_probe(folder: pathlib.Path, steps: int, seed: int = 9) -> None:
    """Writes probe.pt; probe-state.pt is what a killed training goes on from."""
    torch.manual_seed(seed)
    rendered = load_rendered(folder, range(1, count_files(folder)))
    probe, done = Probe(), 0
    parts = [*probe.locator.parameters(), *probe.look.parameters()]
    optimiser = torch.optim.AdamW(parts, lr=LEARNING_RATE, weight_decay=0.03)
    if (folder / "probe-state.pt").exists():
        state = torch.load(folder / "probe-state.pt")
        probe.load_state_dict(state["probe"])
        optimiser.load_state_dict(state["optimiser"])
        done = state["step"]
    rng, started, shown = np.random.default_rng(seed + done), time.time(), []
    for step in range(done, steps):
        for group in optimiser.param_groups:
            group["lr"] = LEARNING_RATE * min(1, (step + 1) / 50, 0.02 + 1.5 * (1 - step / steps))
        losses = probe_losses(probe, *sample_clips(rendered, rng), rng)
        optimiser.zero_grad(set_to_none=True)
        sum(losses).backward()
        optimiser.step()
        shown.append([loss.item() for loss in losses])
        if (step + 1) % SAVE_EVERY == 0 or step + 1 == steps:
            left = (time.time() - started) / (step + 1 - done) * (steps - step - 1)
            means = np.mean(shown[-SAVE_EVERY:], 0).round(3).tolist()
            print(f"probe {step + 1}/{steps} where, place, picture, subject, pose {means}, {left:.0f}s left", flush=True)
            state = {"probe": probe.state_dict(), "optimiser": optimiser.state_dict(), "step": step + 1}
            save_state(folder / "probe-state.pt", state)
    train_reader(folder, probe.eval())
    save_part(folder, "probe", probe)


def sample_clips(rendered, rng):
    """-> frames [B, 3, 3, 144, 256] in 0..1, the mean of each clip's six [B, 3, 72, 128], classes [B, 8],
    places [B, 3, 5]; half of the batches are mirrored."""
    stored, classes, places = rendered
    rows, chosen = rng.integers(0, len(classes), BATCH), np.sort(rng.permutation(FRAMES)[:LOOKS])
    pixels = np.stack([stored[row // CLIPS_PER_FILE][row % CLIPS_PER_FILE] for row in rows])
    average = torch.from_numpy(pixels[:, :, ::2, ::2].mean(1, dtype=np.float32)).permute(0, 3, 1, 2) / 255
    frames = torch.from_numpy(pixels[:, chosen]).permute(0, 1, 4, 2, 3).float() / 255
    classes, places = torch.from_numpy(classes[rows]), torch.from_numpy(places[rows][:, chosen])
    tint = 1 + 0.03 * torch.randn(BATCH, 3, 1, 1)
    if rng.random() < 0.5:
        frames, average, places = frames.flip(4), average.flip(3), places * torch.tensor([-1, 1, 1, -1, -1])
    return disturbed(frames * tint[:, None], rng), average * tint, classes, places


def disturbed(frames, rng):
    """Some softer, some noisy, as a film is."""
    if rng.random() < 0.3:
        flat = frames.flatten(0, 1)
        soft = F.avg_pool2d(F.pad(flat, (1, 1, 1, 1), mode="replicate"), 3, 1)
        frames = frames + (soft.unflatten(0, (-1, LOOKS)) - frames) * rng.uniform(0, 0.7)
    if rng.random() < 0.2:
        frames = frames + 0.01 * torch.randn_like(frames)
    return frames.clamp(0, 1)


def probe_losses(probe, frames, average, classes, places, rng):
    """Where the subject is, its place, the picture's attributes, the subject's in a crop that is a little
    off, and what the crop is off by."""
    flat, places = frames.flatten(0, 1), places.flatten(0, 1)
    small = F.avg_pool2d(flat, 2)
    with short_products():
        where, found, hidden = probe.locator(small, average.repeat_interleave(LOOKS, 0))
        picture = probe.locator.picture(hidden.unflatten(0, (-1, LOOKS)).mean(1))
    where, found, picture = where.float(), found.float(), picture.float()
    labels = classes.repeat_interleave(LOOKS, 0)
    empty = labels[:, NAMES.index("subject")] == NONE
    true = torch.stack([places[:, 0], places[:, 1], (places[:, 2] / TYPICAL_SIZE).log()], 1)
    cell = cell_of(true)
    losses = [F.cross_entropy(where, torch.where(empty, ROWS * COLUMNS, cell))]
    at_cell = found[torch.arange(len(cell)), :, cell]
    away = (at_cell - true) * torch.tensor([4.0, 4.0, 1.0])
    losses.append((away.abs().mean(1) * ~empty).sum() / (~empty).sum())
    losses.append(picture_loss(picture, classes))
    return [*losses, *look_losses(probe, flat, small, true, places, labels, empty, rng)]


def look_losses(probe, flat, small, true, places, labels, empty, rng):
    """Of a close look at crops that are off by up to a third of the subject."""
    spread = 0.2 if rng.random() < 0.6 else 0.06
    off = torch.randn(len(true), 3) * spread
    size = TYPICAL_SIZE * true[:, 2:].exp()
    guess = torch.cat([true[:, :2] + off[:, :2] * size, true[:, 2:] + off[:, 2:]], 1)
    with short_products():
        logits, pose, _ = probe.look(crop(flat, small, guess))
    logits, pose = logits.float(), pose.float()
    subject, colour = (labels[:, NAMES.index(name)] for name in ("subject", "colour"))
    kinds = F.cross_entropy(logits[:, : NONE + 1], subject)
    colours = F.cross_entropy(logits[:, NONE + 1 :], colour, reduction="none")
    kinds = kinds + (colours * ~empty).sum() / (~empty).sum()
    guess_size = TYPICAL_SIZE * guess[:, 2:].exp()
    wanted = [(true[:, :2] - guess[:, :2]) / guess_size, true[:, 2:] - guess[:, 2:]]
    wanted = torch.cat([*wanted, places[:, 3:4].sin(), places[:, 3:4].cos(), places[:, 4:]], 1)
    weight = torch.tensor([6.0, 6.0, 8.0, 1.0, 1.0, 0.5])
    away = ((pose - wanted).abs() * weight).mean(1)
    return kinds, (away * ~empty).sum() / (~empty).sum()


def cell_of(true):
    """[N]: the cell of a place."""
    column = ((true[:, 0] + COLUMNS / ROWS / 2) * ROWS).long().clamp(0, COLUMNS - 1)
    return ((true[:, 1] + 0.5) * ROWS).long().clamp(0, ROWS - 1) * COLUMNS + column


def picture_loss(logits, classes):
    """Cross entropies of setting, time and weather."""
    parts = logits.split([len(dict(SLOTS)[name]) for name in OF_PICTURE], 1)
    pairs = zip(parts, (classes[:, NAMES.index(name)] for name in OF_PICTURE))
    return sum(F.cross_entropy(part, wanted) for part, wanted in pairs)


@torch.no_grad()
def judge_probe(folder: pathlib.Path) -> dict[str, float]:
    """Share of right answers on clips that it never saw."""
    probe = load_part(folder, "probe")
    (frames,), classes, _ = load_rendered(folder, [0])
    pixels = torch.from_numpy(np.array(frames)).permute(0, 1, 4, 2, 3)
    logits = torch.cat([probe(part.float() / 255)[0] for part in pixels.split(20)])
    return shares_right(logits, torch.from_numpy(classes))


def shares_right(logits, classes) -> dict[str, float]:
    """By attribute; those of the subject where there is one."""
    hits, shown = {}, classes[:, NAMES.index("subject")] != NONE
    for index, (name, part) in enumerate(zip(NAMES, logits.split([len(v) for _, v in SLOTS], 1))):
        right = part.argmax(1) == classes[:, index]
        hits[name] = float((right[shown] if name in OF_SUBJECT else right).float().mean())
    return hits

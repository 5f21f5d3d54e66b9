"""Mixes of the teacher's orchestra, and the probe that learns from them which instruments play."""

import math
import pathlib
import random
import time

import numpy as np
import torch
from torch.nn import functional as F

from .attributes import draw_attributes
from .piece import compose
from .probe import BANDS, FRAMES, RANGE, SECONDS, Probe, features
from .sizes import Size
from .teacher_audio import mix
from .training import load_trained, save_atomically, train

CHUNK, BATCH = 100, 32
STRETCH = 160
"""Frames of the stretches that the probe learns from."""
MOST_MOVE = 3
"""Bands that a mix is moved up or down at most; nine are an octave."""
AUDIBLE = 0.003
"""Share of the energy from which an instrument counts as heard; below a tenth of it, as absent."""
FALSE_ALARMS = 0.03
SEED, VALIDATION_SEED = 41, 43


def train_probe(folder: pathlib.Path, size: Size) -> None:
    """Writes probe.pt and prints what it finds in mixes that it did not learn from."""
    torch.manual_seed(SEED)
    chunks = [make_mixes(folder, "mixes", chunk, SEED) for chunk in range(math.ceil(size.mixes / CHUNK))]
    bands = np.concatenate([chunk["bands"] for chunk in chunks])
    energies = np.concatenate([chunk["energies"] for chunk in chunks])
    model = Probe()

    def loss_of(step: int) -> torch.Tensor:
        given, shares = varied(bands, energies, np.random.default_rng((SEED, step)))
        wanted, sure = labels(shares)
        losses = F.binary_cross_entropy_with_logits(model(torch.from_numpy(given)), wanted, reduction="none")
        return (losses * sure).mean() * 10

    train(folder, "probe", model, loss_of, size.probe_steps, 2e-3)
    calibrate(folder, bands, energies)
    print(report(folder))


def calibrate(folder: pathlib.Path, bands: np.ndarray, energies: np.ndarray) -> None:
    """Lowers what an instrument must reach until it is heard in so many of the training mixes without it."""
    probe = load_trained(folder, "probe", Probe())
    scores = scores_of(probe, bands)
    wanted, sure = labels(energies)
    for at, bias in enumerate(probe.head[-1].bias):
        absent = scores[(wanted[:, at] == 0) & (sure[:, at] > 0), at]
        bias -= min(0.0, float(absent.quantile(1 - FALSE_ALARMS)))
    save_atomically({**torch.load(folder / "probe.pt"), "model": probe.state_dict()}, folder / "probe.pt")


def scores_of(probe: Probe, bands: np.ndarray) -> torch.Tensor:
    """[n, 72, 256] uint8 -> [n, 15]."""
    return torch.cat([probe(torch.from_numpy(part).float() / -255) for part in np.split(bands, len(bands) // 25)])


def varied(bands: np.ndarray, energies: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """New mixes of stored ones, float32 [32, 72, 160] and their energies: stretches, half of them two together,
    moved along the logarithmic scale of pitch and tilted."""
    start = int(rng.integers(0, FRAMES - STRETCH + 1))
    powers, shares = [], []
    for rows in rng.integers(0, len(bands), (2, BATCH)):
        power = np.exp(bands[rows, :, start : start + STRETCH].astype(np.float32) * (-2 * RANGE / 255))
        powers.append(power / power.sum((1, 2), keepdims=True))
        shares.append(energies[rows] / (energies[rows].sum(1, keepdims=True) + 1e-12))
    softer = np.where(rng.random(BATCH) < 0.5, 10 ** rng.uniform(-1, 0, BATCH), 0).astype(np.float32)
    power = powers[0] + softer[:, None, None] * powers[1]
    moves = rng.integers(-MOST_MOVE, MOST_MOVE + 1, BATCH)
    power = np.stack([moved(one, int(move)) for one, move in zip(power, moves, strict=True)])
    tilt = rng.uniform(-1, 1, BATCH).astype(np.float32)[:, None, None] * np.linspace(-1, 1, BANDS, dtype=np.float32)[:, None]
    level = np.log(power + 1e-12) + tilt
    given = np.clip((level - level.max((1, 2), keepdims=True)) / (2 * RANGE), -1, 0)
    given += rng.normal(0, 0.02, (BATCH, 1, 1))
    return given.astype(np.float32), shares[0] + softer[:, None] * shares[1]


def moved(power: np.ndarray, bands: int) -> np.ndarray:
    """A spectrogram some bands higher; what comes in is as silent as the quietest band."""
    if bands == 0:
        return power
    shifted = np.roll(power, bands, 0)
    shifted[slice(0, bands) if bands > 0 else slice(bands, None)] = power.min()
    return shifted


def make_mixes(folder: pathlib.Path, name: str, chunk: int, seed: int) -> dict[str, np.ndarray]:
    """100 mixes as bands, uint8 [100, 72, 256] from 0 to -1, and energies [100, 15]; kept in the folder."""
    path = folder / f"{name}-{chunk}.npz"
    if not path.exists():
        begun, rng = time.monotonic(), random.Random(seed * 1_000_003 + chunk)
        rows = [one_mix(rng) for _ in range(CHUNK)]
        partial = path.with_suffix(".partial.npz")
        np.savez_compressed(partial, bands=np.stack([row[0] for row in rows]), energies=np.stack([row[1] for row in rows]))
        partial.rename(path)
        print(f"{name} {chunk} {time.monotonic() - begun:.0f} s", flush=True)
    return dict(np.load(path))


def one_mix(rng: random.Random) -> tuple[np.ndarray, np.ndarray]:
    """Bands and energies of a stretch of a new piece."""
    attributes = draw_attributes(rng)
    bar = attributes.meter * 60 / attributes.bpm
    bars = math.ceil(SECONDS / bar) + 3
    first = rng.uniform(0, max(0.0, bars * bar - SECONDS - 2))
    sound, energies = mix(compose(attributes, bars, rng), first, SECONDS + 0.05, np.random.default_rng(rng.getrandbits(32)))
    return (features(sound) * -255).round().astype(np.uint8), energies.astype(np.float32)


def labels(energies: np.ndarray) -> tuple[torch.Tensor, torch.Tensor]:
    """Whether each instrument is heard, and whether that is sure."""
    share = energies / (energies.sum(1, keepdims=True) + 1e-12)
    heard = share >= AUDIBLE
    return torch.from_numpy(heard).float(), torch.from_numpy(heard | (share < AUDIBLE / 10)).float()


def report(folder: pathlib.Path) -> str:
    """Share found of those that play, and share of false alarms, on 100 new mixes."""
    chunk = make_mixes(folder, "validation", 0, VALIDATION_SEED)
    probe = load_trained(folder, "probe", Probe())
    scores = scores_of(probe, chunk["bands"])
    wanted, sure = labels(chunk["energies"])
    found = ((scores > 0) & (wanted > 0)).sum(0) / wanted.sum(0)
    absent = (wanted == 0) & (sure > 0)
    false = ((scores > 0) & absent).sum(0) / absent.sum(0)
    return f"found {np.round(found.numpy(), 2).tolist()} {float(found.mean()):.3f} false {np.round(false.numpy(), 2).tolist()} {float(false.mean()):.3f}"

"""What each kind of sound is like: the evaluation's references, from the sound world itself."""

import numpy as np
import torch

from .shapes import SAMPLE_RATE_HZ
from .sound_model import BLOCK, chance_features
from .sound_synthesis import Synthesiser
from .sound_teacher import make_bed

KINDS = {
    "waves": {"setting": "ocean", "subject": "kite"},
    "wind": {"setting": "desert", "subject": "house"},
    "rain": {"setting": "meadow", "weather": "rain", "subject": "house"},
    "birds": {"setting": "forest", "subject": "bird", "time": "noon"},
    "engine": {"setting": "desert", "subject": "car"},
    "crickets": {"setting": "meadow", "time": "night", "subject": "house", "weather": "fog"},
    "music": {"setting": "space", "subject": "house"},
}
"""Scenes in which one sound is to be heard."""
FRAME = 4000
EDGES = 50 * (16000 / 50) ** (np.arange(25) / 24)
FLOOR_DB = -70


@torch.no_grad()
def sound_references(beds: int = 8, seed: int = 4) -> dict[str, list[float]]:
    """Kind -> mean signature [48] of some beds of four seconds."""
    torch.manual_seed(seed)
    synthesiser, found = Synthesiser().eval(), {}
    for kind, scene in KINDS.items():
        full = {"time": "noon", "weather": "clear", **scene}
        signatures = []
        for _ in range(beds):
            noise = torch.randn(1, 2, 4 * SAMPLE_RATE_HZ)
            blocks = noise.reshape(1, 2, -1, BLOCK).mean(3) * BLOCK**0.5
            bed = make_bed(full, chance_features(blocks)[0].numpy())
            wave = synthesiser(torch.from_numpy(bed)[None], noise)[0]
            signatures.append(signature(wave.mean(0).numpy()))
        found[kind] = np.mean(signatures, 0).round(2).tolist()
    return found


def signature(samples: np.ndarray) -> np.ndarray:
    """Mono 48 kHz -> mean level of 24 bands about their mean, and how much each moves, in dB: [48]."""
    window = 0.5 - 0.5 * np.cos(2 * np.pi * (np.arange(FRAME) + 0.5) / FRAME)
    frames = samples[: len(samples) // FRAME * FRAME].reshape(-1, FRAME) * window
    powers = np.abs(np.fft.rfft(frames)) ** 2
    bins = np.floor(EDGES / SAMPLE_RATE_HZ * FRAME).astype(int)
    levels = np.stack([powers[:, a : max(a + 1, b)].mean(1) for a, b in zip(bins, bins[1:])], 1)
    levels = np.maximum(FLOOR_DB, 10 * np.log10(levels + 1e-12))
    means = levels.mean(0)
    return np.concatenate([means - means.mean(), levels.std(0)])

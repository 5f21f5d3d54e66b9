"""Chunks of the corpus as other rooms, microphones, throats and tempi would give them."""

import numpy as np
from scipy.signal import lfilter

from .mel import BINS, SILENCE, scale

STEPS = 132
"""Of a chunk: 4 s."""
FRAMES = 3 * STEPS


class Chunks:
    """Random chunks: scaled features, the phone of each step, and the phones in order."""

    def __init__(self, shards: list[dict], seed: int):
        self.shards = shards
        self.shares = np.array([shard["share"] for shard in shards])
        self.random = np.random.default_rng(seed)

    def batch(self, count: int, augmented: bool = True):
        """features [count, 80, frames], states [count, steps], list of phone sequences."""
        drawn = [self.chunk(augmented) for _ in range(count)]
        features = np.stack([power for power, _, _ in drawn])
        return features, np.stack([states for _, states, _ in drawn]), [phones for _, _, phones in drawn]

    def chunk(self, augmented: bool):
        random = self.random
        shard = self.shards[random.choice(len(self.shards), p=self.shares)]
        mel = shard["mel"]
        tempo = random.uniform(0.84, 1.2) if augmented and random.random() < 0.6 else 1.0
        length = int(np.ceil(FRAMES * tempo)) + 1
        begin = int(random.integers(0, len(mel) - length))
        places = np.arange(FRAMES) * tempo
        low = places.astype(int)
        share = (places - low)[:, None].astype(np.float32)
        span = mel[begin : begin + length].astype(np.float32)
        level = span[low] * (1 - share) + span[low + 1] * share
        states, phones = labels(shard, begin + low[1::3], begin, begin + length)
        if not augmented:
            return scale(level), states, phones
        if random.random() < 0.04:
            return scale(nobody(random)), np.zeros_like(states), phones[:0]
        return scale(colour(throat(level, random), random)), states, phones


def labels(shard: dict[str, np.ndarray], centres: np.ndarray, begin: int, end: int):
    """The phone at each centre, and the phones in order of which most lies inside."""
    phones, starts = shard["phones"], shard["starts"]
    states = phones[np.searchsorted(starts, centres, "right") - 1].astype(np.int64)
    first = np.searchsorted(starts, begin, "left")
    last = np.searchsorted(starts, end, "left")
    inside = phones[first:last].astype(np.int64)
    if first > 0 and starts[first] - begin > 4:
        inside = np.concatenate((phones[first - 1 : first].astype(np.int64), inside))
    if end - starts[last - 1] < 4:
        inside = inside[:-1]
    return states, inside[inside > 0]


def nobody(random: np.random.Generator) -> np.ndarray:
    """A sound without speech: hiss, hum, tones or knocks, at times nothing at all."""
    if random.random() < 0.1:
        return np.full((FRAMES, BINS), SILENCE)
    level = np.interp(np.arange(BINS), np.linspace(0, BINS, 6), random.normal(-3, 1.5, 6))
    for _ in range(random.integers(0, 10)):
        level[random.integers(0, BINS - 2) :][:2] += random.uniform(0.5, 4)
    level = level + random.uniform(0, 1) * np.log10(random.gamma(2.0, 0.5, (FRAMES, BINS)) + 1e-3)
    places = np.linspace(0, FRAMES, random.integers(2, 9))
    level += np.interp(np.arange(FRAMES), places, random.normal(0, 0.5, len(places)))[:, None]
    if random.random() < 0.3:
        level[:: random.integers(20, 150)] += random.uniform(0.5, 3)
    return level


def warp(level: np.ndarray, factor: float) -> np.ndarray:
    """Formants moved by a factor of frequency, as far as the bands reach."""
    places = np.clip(np.arange(BINS) * factor, 0, BINS - 1.001)
    low = places.astype(int)
    share = (places - low).astype(np.float32)
    return level[:, low] * (1 - share) + level[:, low + 1] * share


def throat(level: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Another speaker: formants, pitch harmonics and dynamics changed, each some of the time."""
    if random.random() < 0.7:
        level = warp(level, np.exp(np.clip(random.normal(0, 0.1), -0.24, 0.24)))
    if random.random() < 0.3:
        width = random.integers(2, 6)
        level = np.log10(lfilter(np.ones(width) / width, [1], 10.0**level, axis=1) + 1e-10)
    if random.random() < 0.3:
        level = level * random.uniform(0.8, 1.2)
    return level


def colour(level: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Pauses, reverberation, noise and a narrow line, each some of the time."""
    power = 10.0**level
    if random.random() < 0.15:
        power = pause(power, random)
    if random.random() < 0.15:
        decay = 10 ** (-6 / (100 * random.uniform(0.15, 0.6)))
        late = lfilter([0, 0, 0, 1], [1, -decay], power, axis=0) * (1 - decay) * 0.5
        power = power + late * random.uniform(0.1, 1)
    if random.random() < 0.5:
        loud = np.quantile(power.mean(1), 0.9) + 1e-9
        tilt = np.exp(random.uniform(-3, 0.7) * np.linspace(0, 1, BINS))
        ratio = 10 ** -random.uniform(1.2, 5.5)
        power = power + random.gamma(2.0, 0.5, power.shape) * tilt / tilt.mean() * loud * ratio
    if random.random() < 0.3:
        power[:, random.integers(50, 76) :] *= 10.0 ** random.uniform(-6, -2)
    return np.log10(np.maximum(power, 1e-10))


def pause(power: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Only what is said grows quiet: a gain that moves over the chunk."""
    gain = np.interp(np.arange(len(power)), np.linspace(0, len(power), 5), random.uniform(-1.2, 0, 5))
    return power * (10**gain)[:, None]

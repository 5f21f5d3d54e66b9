"""Rooms, microphones, lines and backgrounds for spoken sentences."""

import numpy as np
from scipy.signal import butter, fftconvolve, sosfilt

from .utterance import RATE_HZ


class Place:
    """Where somebody speaks for a while: the same room, line and background for each sentence."""

    def __init__(self, random: np.random.Generator, babble: np.ndarray):
        self.random = random
        self.room = room(random) if random.random() < 0.5 else None
        self.tone = microphone(random) if random.random() < 0.6 else None
        self.line = telephone(random) if random.random() < 0.12 else None
        self.noise = background(random, babble) if random.random() < 0.6 else None
        self.above = 10 ** -(random.uniform(6, 38) / 20)

    def heard(self, samples: np.ndarray) -> np.ndarray:
        """The samples as they arrive, as long as they were."""
        count, random = len(samples), self.random
        if self.room is not None:
            samples = fftconvolve(samples, self.room)[:count]
        if self.tone is not None:
            samples = fftconvolve(samples, self.tone, mode="same")
        if self.noise is not None:
            begin = int(random.integers(0, max(1, len(self.noise) - count)))
            noise = np.resize(self.noise[begin : begin + count], count)
            samples = samples + noise * self.above * samples.std() / (noise.std() + 1e-9)
        if self.line is not None:
            samples = sosfilt(self.line, samples)
            top = np.abs(samples).max() + 1e-9
            coded = np.round(np.sign(samples) * np.log1p(255 * np.abs(samples / top)) / np.log(256) * 127) / 127
            samples = np.sign(coded) * (256 ** np.abs(coded) - 1) / 255
        return (samples / (np.abs(samples).max() + 1e-9) * 10 ** random.uniform(-1.2, -0.05)).astype(np.float32)


def room(random: np.random.Generator) -> np.ndarray:
    """The direct sound, a few early reflections and a noise that dies away, highs first."""
    seconds = random.uniform(0.12, 0.7)
    count = int(seconds * RATE_HZ)
    time = np.arange(count) / RATE_HZ
    late = random.normal(0, 1, count)
    low = sosfilt(butter(1, random.uniform(1500, 4000), fs=RATE_HZ, output="sos"), late)
    tail = late * np.exp(-6.9 * time / (seconds * 0.5)) * 0.5 + low * np.exp(-6.9 * time / seconds)
    tail[: int(random.uniform(0.002, 0.02) * RATE_HZ)] = 0
    for at in random.integers(16, count // 4, 6):
        tail[at] += random.normal(0, 3)
    tail *= 10 ** (-random.uniform(-2, 16) / 20) / np.sqrt((tail**2).sum())
    tail[0] = 1
    return tail


def microphone(random: np.random.Generator) -> np.ndarray:
    """A smooth random curve of the frequency as a short filter."""
    points = np.cumsum(random.normal(0, 3, 9))
    points -= points.mean()
    curve = 10 ** (np.interp(np.linspace(0, 1, 129) ** 0.6, np.linspace(0, 1, 9), points) / 20)
    if random.random() < 0.3:
        curve *= np.minimum(1, np.linspace(0, 1, 129) * 8000 / random.uniform(80, 300)) ** 2
    return np.roll(np.fft.irfft(curve), 128) * np.hanning(256)


def telephone(random: np.random.Generator) -> np.ndarray:
    """A narrow band."""
    return butter(4, (random.uniform(150, 350), random.uniform(3200, 3800)), "bandpass", fs=RATE_HZ, output="sos")


def background(random: np.random.Generator, babble: np.ndarray) -> np.ndarray:
    """Eight seconds of a coloured hiss, of hum, of clicks, or of others who talk."""
    count = 8 * RATE_HZ
    kind = random.random()
    if kind < 0.2 and len(babble) > count:
        starts = random.integers(0, len(babble) - count, random.integers(1, 8))
        return sum(babble[at : at + count] for at in starts)
    spectrum = np.fft.rfft(random.normal(0, 1, count))
    hertz = np.fft.rfftfreq(count, 1 / RATE_HZ) + 20
    noise = np.fft.irfft(spectrum * hertz ** -random.uniform(0, 1.3))
    noise /= noise.std()
    if kind < 0.4:
        base, time = random.choice((50, 60, 100, 120, random.uniform(80, 900))), np.arange(count) / RATE_HZ
        lines = sum(random.normal(0, 1) / part * np.sin(2 * np.pi * base * part * time) for part in range(1, 9))
        noise = noise * 0.3 + lines / lines.std()
    elif kind < 0.5:
        noise *= 0.1
        noise[random.integers(0, count, random.integers(5, 120))] += random.normal(0, 20)
    elif kind < 0.7:
        swell = np.interp(np.arange(count), np.linspace(0, count, 24), random.normal(0, 0.7, 24))
        noise *= np.exp(swell)
    return noise

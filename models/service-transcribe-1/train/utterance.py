"""Spoken sentences: samples with what is said when."""

import dataclasses
import subprocess

import numpy as np
from scipy.signal import resample_poly
from training_kit.flite import Segment

RATE_HZ = 16000


@dataclasses.dataclass
class Piece:
    """One phone by a synthesiser's own name, seconds; `opens` marks the first of its word."""

    phone: str
    start: float
    end: float
    word: str | None
    opens: bool


@dataclasses.dataclass
class Utterance:
    """Mono samples in -1..1 at 16 kHz, and their phones in order."""

    samples: np.ndarray
    pieces: list[Piece]


def pieces_of(segments: list[Segment]) -> list[Piece]:
    """Each begins where the one before it ends."""
    starts = [0.0, *(segment.end for segment in segments[:-1])]
    return [Piece(one.name, start, one.end, one.text, one.starts_word) for one, start in zip(segments, starts)]


def from_pieces(samples: np.ndarray, rate_hz: int, pieces: list[Piece]) -> Utterance:
    """Brings the samples to 16 kHz."""
    if rate_hz != RATE_HZ:
        common = int(np.gcd(rate_hz, RATE_HZ))
        samples = resample_poly(samples, RATE_HZ // common, rate_hz // common)
    return Utterance(np.asarray(samples, np.float32), pieces)


def decode(sound: bytes, form: str, rate_hz: int | None = None) -> np.ndarray:
    """Mono samples in -1..1 at 16 kHz; `form` is ffmpeg's, `rate_hz` that of bare samples."""
    bare = ["-ar", str(rate_hz), "-ac", "1"] if rate_hz else []
    samples = f"-f f32le -ac 1 -ar {RATE_HZ} -".split()
    command = ["ffmpeg", "-v", "error", "-f", form, *bare, "-i", "-", *samples]
    return np.frombuffer(subprocess.run(command, input=sound, check=True, capture_output=True).stdout, np.float32)

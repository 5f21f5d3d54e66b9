"""Pieces that the teacher composes and plays itself: what the ears of the evaluation are checked on.

python -m train.make_exact --folder build/exact      # then framemill's hearKey and hearTempo on its files
"""

import argparse
import json
import math
import pathlib
import random
import wave

import numpy as np

from .attributes import draw_attributes
from .piece import compose
from .teacher_audio import RATE_HZ, mix

SECONDS = 14.0


def make_exact(folder: pathlib.Path, count: int, seed: int) -> None:
    """Writes N.wav, mono, and pieces.jsonl: tempo, tonic and mode of each."""
    folder.mkdir(parents=True, exist_ok=True)
    stated = []
    for number in range(count):
        rng = random.Random(seed * 1_000_003 + number)
        attributes = draw_attributes(rng)
        bars = max(2, math.ceil(SECONDS / (attributes.meter * 60 / attributes.bpm)))
        sound, _ = mix(compose(attributes, bars, rng), 0.0, SECONDS, np.random.default_rng(rng.getrandbits(32)))
        write_wave(folder / f"{number}.wav", sound)
        stated.append({"bpm": attributes.bpm, "tonic": attributes.tonic, "mode": attributes.mode, "genre": attributes.genre})
    (folder / "pieces.jsonl").write_text("".join(json.dumps(row) + "\n" for row in stated))
    print(f"{count} pieces in {folder}")


def write_wave(path: pathlib.Path, sound: np.ndarray) -> None:
    """Mono, 16 bits."""
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE_HZ)
        file.writeframes((sound / np.abs(sound).max() * 30_000).astype("<i2").tobytes())


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("build/exact"))
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seed", type=int, default=47)
    options = parser.parse_args()
    make_exact(options.folder, options.count, options.seed)


if __name__ == "__main__":
    main()

"""Speaks a text with the exported graph: to listen to it, and to measure.

python -m train.speak "Good morning." --voice clb --file said.wav
"""

import argparse
import pathlib

import numpy as np
import onnxruntime
import soundfile

from .teachers import VOICES
from .manifest import FILES
from .symbols import BEGIN, CHARACTER_IDS, END, PAD
from .vocoder import RATE

PACKAGE = pathlib.Path(__file__).resolve().parent.parent


def ids_of(text: str) -> list[int]:
    """Ids as the service makes them: a pad behind each character but the last."""
    known = [character for character in text if character in CHARACTER_IDS]
    spread = [item for character in [BEGIN, *known] for item in (character, PAD)] + [END]
    return [CHARACTER_IDS[character] for character in spread]


def feed_of(text: str, voice: int, length: float = 1.0) -> dict[str, np.ndarray]:
    """Inputs of one run by name."""
    ids = ids_of(text)
    return {
        "input": np.array([ids], np.int64),
        "input_lengths": np.array([len(ids)], np.int64),
        "scales": np.array([1.0, length, 1.0], np.float32),
        "sid": np.array([voice], np.int64),
    }


def ends_trimmed(sound: np.ndarray) -> np.ndarray:
    """Silence of more than 40 ms before and 100 ms behind taken off, as the service does."""
    loud = np.flatnonzero(np.abs(sound) > 0.005 * np.abs(sound).max())
    if len(loud) == 0:
        return sound
    return sound[max(0, loud[0] - RATE // 25) : loud[-1] + RATE // 10]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("text")
    parser.add_argument("--voice", choices=VOICES, default=VOICES[0])
    parser.add_argument("--file", type=pathlib.Path, default=pathlib.Path("said.wav"))
    options = parser.parse_args()
    session = onnxruntime.InferenceSession(str(PACKAGE / FILES["model"]))
    sound = session.run(None, feed_of(options.text, VOICES.index(options.voice)))[0].reshape(-1)
    soundfile.write(options.file, sound, RATE)


if __name__ == "__main__":
    main()

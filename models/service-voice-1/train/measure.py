"""The card's numbers that `framemill models evaluate` has no judge for: DNSMOS, and a second recogniser.

python -m train.measure --whisper FOLDER
"""

import argparse
import json
import pathlib
import time

import numpy as np
import onnxruntime

from .listeners import Dnsmos, Whisper, word_errors
from .teachers import VOICES
from .manifest import FILES
from .speak import PACKAGE, ends_trimmed, feed_of
from .vocoder import RATE

PASSAGE = 4
"""Sentences that are judged together: DNSMOS looks at 9 s at once."""
PAUSE = np.zeros(int(0.15 * RATE), np.float32)
"""Between sentences, as the service joins them."""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--limit", type=int, default=48, help="sentences, each by every voice")
    parser.add_argument("--whisper", type=pathlib.Path, help="folder of Whisper tiny.en as ONNX")
    parser.add_argument("--quick", action="store_true", help="DNSMOS of the first window only")
    options = parser.parse_args()
    lines = (PACKAGE / "evaluation" / "sentences.jsonl").read_text().splitlines()
    rows = [json.loads(line) for line in lines][: options.limit]
    session_options = onnxruntime.SessionOptions()
    session_options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(PACKAGE / FILES["model"]), session_options)
    listener = None if options.whisper is None else Whisper(options.whisper)
    for number, voice in enumerate(VOICES):
        started = time.time()
        made = [session.run(None, feed_of(row["text"], number))[0] for row in rows]
        spent = time.time() - started
        sounds = [ends_trimmed(sound.reshape(-1)) for sound in made]
        pace = spent / sum(map(len, sounds)) * RATE
        print(voice, judge_quality(sounds, options.quick), f"real-time factor {pace:.3f}", flush=True)
        if listener is not None:
            print(voice, f"Whisper's word error {judge_words(rows, sounds, listener):.4f}", flush=True)


def judge_quality(sounds: list[np.ndarray], quick: bool) -> dict[str, float]:
    """DNSMOS of passages, its mean."""
    judge, scores = Dnsmos(), []
    for first in range(0, len(sounds), PASSAGE):
        pieces = [piece for sound in sounds[first : first + PASSAGE] for piece in (sound, PAUSE)]
        scores.append(judge(np.concatenate(pieces[:-1]), RATE, quick))
    return {name: round(float(np.mean([score[name] for score in scores])), 2) for name in scores[0]}


def judge_words(rows: list[dict], sounds: list[np.ndarray], listener: Whisper) -> float:
    """Word error of sentences without numbers, which Whisper writes in digits."""
    errors = words = 0
    for row, sound in zip(rows, sounds):
        if any(character.isdigit() for character in row["text"]):
            continue
        errors += word_errors(row["say"].split(), listener(sound, RATE))
        words += len(row["say"].split())
    return errors / words


if __name__ == "__main__":
    main()

"""Recordings of people for the training: when each phone of a text sounds, as the acoustic model hears it."""

import pathlib
import time

import numpy as np
import torch

from .acoustic_model import FRAMES_PER_STEP
from training_kit.flite import analyse
from .make_corpus import Shard
from .mel import HOP, features_of
from .phones import NUMBER_OF, SILENCE, translate
from .recordings import recordings
from .utterance import RATE_HZ, Piece, Utterance

LEAST_SCORE = -3.0
"""Mean log probability of a step; below it the recording says something else."""
REPORTED = 500
"""Recordings between two lines of progress."""
STEP_SECONDS = FRAMES_PER_STEP * HOP / RATE_HZ


def add_recordings(folder: pathlib.Path, model) -> None:
    """Writes `corpus-<source>.npz` for each source that has none."""
    for source, found in recordings().items():
        path = folder / f"corpus-{source}.npz"
        if path.exists():
            continue
        began, shard, left_out = time.time(), Shard(), 0
        for number, (text, samples) in enumerate(found, 1):
            if number % REPORTED == 0:
                print(f"corpus {source}: {number} recordings in {time.time() - began:.0f} s", flush=True)
            aligned = align(model, text, samples)
            if aligned is None or aligned[1] < LEAST_SCORE:
                left_out += 1
            else:
                shard.add(aligned[0])
        shard.save(path)
        minutes = shard.seconds / 60
        print(f"corpus {source}: {minutes:.0f} min in {time.time() - began:.0f} s, {left_out} left out", flush=True)


def align(model, text: str, samples: np.ndarray) -> tuple[Utterance, float] | None:
    """The recording with its phones, and the mean log probability of a step; None where it is too short for the text."""
    pieces = phones_of(text)
    with torch.no_grad():
        _, states = model(torch.from_numpy(features_of(samples))[None])
    path = best_path(states[0].numpy(), pieces)
    if path is None:
        return None
    begins, score = path
    ends = [*begins[1:], len(states[0])]
    timed = []
    for piece, begin, end in zip(pieces, begins, ends, strict=True):
        if end > begin:
            piece.start, piece.end = begin * STEP_SECONDS, end * STEP_SECONDS
            timed.append(piece)
    return Utterance(samples, timed), score


def phones_of(text: str) -> list[Piece]:
    """flite's phones without times; a silence, which may take no time, before each word and behind the last."""
    pieces, last = [], -1
    for segment in analyse(text):
        phones = [phone for phone in translate(segment.name) or [] if phone != SILENCE]
        if not phones:
            continue
        opens = segment.word != last
        last = segment.word
        if opens:
            pieces.append(Piece(SILENCE, 0, 0, None, False))
        pieces += [Piece(phone, 0, 0, segment.text, opens and at == 0) for at, phone in enumerate(phones)]
    return [*pieces, Piece(SILENCE, 0, 0, None, False)]


def best_path(heard: np.ndarray, pieces: list[Piece]) -> tuple[list[int], float] | None:
    """Step [of heard, log probabilities [steps, phones]] at which each piece begins, and the mean over the steps."""
    expected = np.array([NUMBER_OF[piece.phone] for piece in pieces])
    may_skip = np.concatenate(([False], expected[:-1] == 0))
    score = np.full(len(expected), -np.inf)
    score[:2] = heard[0, expected[:2]]
    moves = np.zeros((len(heard), len(expected)), np.int8)
    for step in range(1, len(heard)):
        ways = np.full((3, len(expected)), -np.inf)
        ways[0] = score
        ways[1, 1:] = score[:-1]
        ways[2, 2:] = np.where(may_skip[2:], score[:-2], -np.inf)
        moves[step] = ways.argmax(0)
        score = ways.max(0) + heard[step, expected]
    at = len(expected) - 1 if score[-1] > score[-2] else len(expected) - 2
    if np.isinf(score[at]):
        return None
    total, begins = score[at], [len(heard)] * len(expected)
    for step in range(len(heard) - 1, -1, -1):
        begins[at] = step
        at -= int(moves[step, at])
    # A silence that was passed over begins where the next phone does.
    for place in range(len(begins) - 2, -1, -1):
        if expected[place] == 0 and begins[place] > begins[place + 1]:
            begins[place] = begins[place + 1]
    return begins, float(total / len(heard))

"""What the speaker learns from: sounds, durations and frames of three teachers, in shards that resume."""

import pathlib
import time

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from training_kit.flite import Segment

from . import texts
from .analysis import LOUDNESS, play
from .intonation import bend_pitch
from .symbols import ASKING, GOING_ON, PAUSE, SOUND_IDS, sound_id
from .teachers import VOICES, speak
from .vocoder import Vocoder

SHARD = 60
ASIDE_SHARE = 0.25
"""Of the sentences: questions, lists and clauses."""
SILENCE_LOSS = 1.5
"""Nepers taken off inside pauses, where teachers hiss."""


def make_speech(folder: pathlib.Path, sentences: int) -> None:
    """sentences: of each voice."""
    pool = texts.spoken_lines(5, 14, sentences * len(VOICES), ASIDE_SHARE, 9)
    started, made = time.time(), 0
    total = sentences // SHARD * len(VOICES)
    for shard in range(sentences // SHARD):
        for number, voice in enumerate(VOICES):
            path = folder / "speech" / f"{voice}-{shard:03}.npz"
            made += 1
            if path.exists():
                continue
            first = (shard * len(VOICES) + number) * SHARD
            write_shard(path, voice, pool[first : first + SHARD])
            left = (time.time() - started) / made * (total - made)
            print(f"speech {made} of {total} shards, {left:.0f} s left", flush=True)


def write_shard(path: pathlib.Path, voice: str, lines: list[str]) -> None:
    """Utterances one behind the other, with their lengths."""
    path.parent.mkdir(parents=True, exist_ok=True)
    said = ((speak(voice, line if line[-1] in "?!" else f"{line}."), line) for line in lines)
    examples = [example for item, line in said if (example := example_of(*item, line))]
    gain = level_of([example[3] for example in examples[:6]])
    arrays = {
        "sounds": np.concatenate([example[0] for example in examples]).astype(np.uint8),
        "starts": np.concatenate([example[1] for example in examples]).astype(np.uint8),
        "durations": np.concatenate([example[2] for example in examples]).astype(np.uint8),
        "frames": np.concatenate([example[3] for example in examples]).astype(np.float16),
        "counts": np.array([len(example[0]) for example in examples]),
        "gain": np.array(gain),
    }
    partial = path.with_suffix(".partial.npz")
    np.savez(partial, **arrays)
    partial.rename(path)


def example_of(segments: list[Segment], frames: np.ndarray, text: str):
    """Sounds, word starts, durations in 10 ms, frames of 5 ms (two of each 10 ms); None if unusable."""
    if any(segment.name not in SOUND_IDS for segment in segments):
        return None
    ends = np.round(np.array([segment.end for segment in segments]) * 100).astype(int)
    for index in range(len(ends)):
        ends[index] = max(ends[index], (ends[index - 1] if index else 0) + 1)
    durations = np.diff(ends, prepend=0)
    if durations.max() > 250:
        return None
    frames = np.pad(frames, ((0, max(0, 2 * ends[-1] - len(frames))), (0, 0)), "edge")[: 2 * ends[-1]]
    sounds = np.array([sound_id(segment.name, segment.stress == 1) for segment in segments])
    sounds[1:-1][sounds[1:-1] == SOUND_IDS[PAUSE]] = SOUND_IDS[GOING_ON]
    if sounds[-1] == SOUND_IDS[PAUSE] and text.endswith("?"):
        sounds[-1] = SOUND_IDS[ASKING]
    starts = np.array([segment.starts_word for segment in segments])
    is_pause = np.repeat(np.array([segment.name == PAUSE for segment in segments]), 2 * durations)
    frames[:, 6] -= SILENCE_LOSS * inner(is_pause)
    bend_pitch(frames[:, 0], sounds, durations, text)
    return sounds, starts, durations, frames


def inner(is_pause: np.ndarray) -> np.ndarray:
    """1 inside pauses, falling to 0 over 40 ms towards their neighbours."""
    padded = np.pad(is_pause.astype(float), 4, constant_values=1.0)
    return sliding_window_view(padded, 9).min(1) * 0.5 + sliding_window_view(padded, 9).mean(1) * 0.5


def level_of(frames: list[np.ndarray]) -> float:
    """What must be added to the first coefficient for every voice to be equally loud."""
    sound = np.concatenate([play(item, Vocoder()) for item in frames])
    loud = np.abs(sound) > 0.05 * np.abs(sound).max()
    return float(np.log(LOUDNESS / np.sqrt(np.mean(sound[loud] ** 2))))

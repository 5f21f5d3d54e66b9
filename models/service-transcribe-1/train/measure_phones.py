"""Phone error of the acoustic model alone on voices and sentences that it never heard."""

import functools
import pathlib
import random

import numpy as np
import torch

from . import espeak_voice, flite_voice, texts
from .augment import scale
from .make_corpus import HELD_OUT_FLITE
from .mel import HOP, log_mel
from .phones import NUMBER_OF, label_pieces

SENTENCES = 40


def phone_errors(model, folder: pathlib.Path) -> str:
    """`voice error` pairs: of the spelling head and of the runs of the states, best path."""
    parts = []
    model.eval()
    for voice, cases in held_out(SENTENCES).items():
        wrong, total = np.zeros(2), 0
        for features, phones in cases:
            with torch.no_grad():
                heads = [head[0].argmax(-1).numpy() for head in model(torch.from_numpy(features)[None])]
            wrong += [distance(collapse(head), phones) for head in heads]
            total += len(phones)
        parts.append(f"{voice} {wrong[0] / total:.3f} {wrong[1] / total:.3f}")
    return " ".join(parts)


@functools.cache
def held_out(count: int) -> dict[str, list]:
    """Features and phones of held-out sentences by held-out voices."""
    source = random.Random(77)
    pool = texts.speakable(texts.examples(), True)
    cases = {HELD_OUT_FLITE: [], "espeak": []}
    for at, text in enumerate(source.sample(pool, 2 * count)):
        if at % 2:
            voices = espeak_voice.HELD_OUT_VARIANTS
            spoken = espeak_voice.speak(f"en-us+{voices[at // 2 % len(voices)]}", text)
        else:
            spoken = flite_voice.speak(HELD_OUT_FLITE, text)
        labelled = label_pieces(spoken.pieces)
        if labelled:
            features = scale(log_mel(spoken.samples, len(spoken.samples) // HOP // 3 * 3))
            numbers = [NUMBER_OF[phone] for phone, _, _ in labelled]
            cases["espeak" if at % 2 else HELD_OUT_FLITE].append((features, [n for n in numbers if n > 0]))
    return cases


def collapse(best: np.ndarray) -> list[int]:
    """Runs become one; blanks and silences vanish."""
    return [int(phone) for at, phone in enumerate(best) if phone > 0 and (at == 0 or best[at - 1] != phone)]


def distance(given: list[int], wanted: list[int]) -> int:
    """Levenshtein's."""
    row = list(range(len(wanted) + 1))
    for at, one in enumerate(given, 1):
        last, row[0] = row[0], at
        for place, other in enumerate(wanted, 1):
            last, row[place] = row[place], min(row[place] + 1, row[place - 1] + 1, last + (one != other))
    return row[-1]

"""Phone error of the acoustic model alone on the voices of `tuning.py`."""

import functools

import numpy as np
import torch

from .mel import features_of
from .tuning import people_cases, speaker_cases

SENTENCES = 40


def phone_errors(model) -> str:
    """`voice error` pairs: of the spelling head, best path."""
    parts = []
    model.eval()
    for voice, cases in measured().items():
        wrong, total = 0, 0
        for features, phones in cases:
            with torch.no_grad():
                spelling, _ = model(torch.from_numpy(features)[None])
            wrong += distance(collapse(spelling[0].argmax(-1).numpy()), phones)
            total += len(phones)
        parts.append(f"{voice} {wrong / total:.3f}")
    return " ".join(parts)


@functools.cache
def measured() -> dict[str, list]:
    """Features and phones of each voice's sentences."""
    return {
        voice: [(features_of(samples), phones) for _, samples, phones in cases]
        for voice, cases in (("speaker", speaker_cases(SENTENCES)), ("people", people_cases()))
    }


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

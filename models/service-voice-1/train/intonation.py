"""What the teachers do not do: their pitch is bent where a question asks or a sentence goes on.

Yes-or-no questions rise from their last stressed vowel, questions with a question word fall, and what stands
before a pause within a sentence rises a little. The speaker learns it from the pauses and the words that it reads.
"""

import re

import numpy as np

from .symbols import ASKING, GOING_ON, SOUND_IDS, VOWELS

CLAUSE = re.compile(r"[,;:] *|\bbut ")
VERB = re.compile(r"(?:is|are|am|was|were|do|does|did|have|has|had|can|could|will|would|shall|should|may|might|must)(?:n't)?\b")
ASKED = re.compile(r"(?:(?:in|at|on|to|for|of|with|from|by) )?(?:what|who|whom|whose|which|when|where|why|how)\b")
RISE, LOW = 0.36, -0.05
"""A question's end and where its rise begins, log pitch above the mean of the sentence."""
FALL, PEAK = -0.22, 0.08
"""The end of a question with a question word and its last stress."""
GOES_ON = 0.12
"""The last syllable before a pause within a sentence."""
ENTRY = 12
"""Frames of 5 ms in which the pitch bends towards a new line."""
VOWEL_IDS = frozenset(SOUND_IDS[name] for vowel in VOWELS for name in (vowel, f"{vowel}1"))
STRESSED_IDS = frozenset(SOUND_IDS[f"{vowel}1"] for vowel in VOWELS)


def asks_for_yes_or_no(question: str) -> bool:
    """Whether its last clause begins with a verb, or none with a question word."""
    clauses = CLAUSE.split(question.lower())
    return bool(VERB.match(clauses[-1])) or not any(ASKED.match(clause) for clause in clauses)


def bend_pitch(pitch: np.ndarray, sounds: np.ndarray, durations: np.ndarray, text: str) -> None:
    """Log pitch of frames of 5 ms, in place; durations in frames of 10 ms, pauses told apart."""
    ends = 2 * np.cumsum(durations)
    begins = ends - 2 * durations
    mean = pitch[begins[1] : begins[-1]].mean()
    for place in np.flatnonzero(sounds == SOUND_IDS[GOING_ON]):
        vowel = last_of(sounds[:place], VOWEL_IDS)
        if vowel is not None:
            draw(pitch, begins[vowel], begins[place], max(pitch[begins[vowel]], mean - 0.05), mean + GOES_ON)
    if sounds[-1] != SOUND_IDS[ASKING]:
        return
    stressed = last_of(sounds, STRESSED_IDS)
    stressed = last_of(sounds, VOWEL_IDS) if stressed is None else stressed
    if stressed is None:
        return
    if asks_for_yes_or_no(text):
        draw(pitch, begins[stressed], begins[-1], mean + LOW, mean + RISE)
    else:
        draw(pitch, begins[stressed], begins[-1], max(pitch[begins[stressed]], mean + PEAK), mean + FALL)


def last_of(sounds: np.ndarray, wanted: frozenset[int]) -> int | None:
    """Place of the last sound of a kind."""
    places = [place for place, sound in enumerate(sounds) if int(sound) in wanted]
    return places[-1] if places else None


def draw(pitch: np.ndarray, begin: int, end: int, first: float, last: float) -> None:
    """A smooth line from first to last; the frames before bend towards it, those behind keep its end."""
    share = np.linspace(0, 1, end - begin)
    share = share * share * (3 - 2 * share)
    before = min(ENTRY, begin)
    bend = np.linspace(0, 1, before, endpoint=False)
    pitch[begin - before : begin] += bend * (first - pitch[begin])
    pitch[begin:end] = first + (last - first) * share
    following = pitch[end : end + ENTRY]
    following += (last - following) * np.linspace(1, 0, len(following), endpoint=False)

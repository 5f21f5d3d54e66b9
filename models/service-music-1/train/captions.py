"""Writes a sentence about a piece, and says what it states."""

import dataclasses
import random

from . import caption_words as words
from . import vocabulary as v
from .attributes import Attributes

HELD_OUT_BPM = 9
"""Tempi with this remainder of 11 are in no training caption."""


@dataclasses.dataclass
class Caption:
    """A sentence; wishes per instrument of NAMED: 0 open, 1 wanted, 2 unwanted."""

    text: str
    wishes: list[int]


def write_caption(attributes: Attributes, rng: random.Random) -> Caption:
    """States a random part of the attributes."""
    wishes = [0] * len(v.NAMED)
    front = adjectives(attributes, rng)
    rng.shuffle(front)
    noun = rng.choice(words.NOUNS)
    back = [phrase for phrase in (key(attributes, rng), tempo(attributes, rng), meter(attributes, rng)) if phrase]
    played = instruments(attributes, wishes, rng)
    if played and rng.random() < 0.15:
        front, played = [played, *front], ""
    if played:
        back.append(played)
    rng.shuffle(back)
    left_out = exclusions(attributes, wishes, rng)
    parts = [" ".join([*front, noun]).strip(), *back, left_out, rng.choice(words.TAILS)]
    if rng.random() < 0.15:
        rng.shuffle(parts)
    joint = rng.choice((" ", " ", ", ", ", ", ". "))
    text = rng.choice(words.STARTS) + joint.join(part for part in parts if part)
    return Caption(text, wishes)


def adjectives(attributes: Attributes, rng: random.Random) -> list[str]:
    """Genre, mood, pace and energy words."""
    found = []
    if rng.random() < 0.65:
        found.append(rng.choice(words.GENRES[attributes.genre]))
    if attributes.mood and rng.random() < 0.8:
        found.append(rng.choice(words.MOODS[attributes.mood]))
    if rng.random() < 0.2:
        fitting = [names for low, high, names in words.TEMPI if low <= attributes.bpm <= high]
        found += [rng.choice(rng.choice(fitting))] if fitting else []
    if rng.random() < 0.12:
        found.append(rng.choice(words.ENERGIES[attributes.energy]))
    return found


def key(attributes: Attributes, rng: random.Random) -> str:
    """The key, or major or minor alone, or nothing."""
    chance = rng.random()
    mode = rng.choice(words.MODES[attributes.mode])
    if chance < 0.5:
        tonic = rng.choice(words.TONICS[attributes.tonic])
        name = f"{tonic}m" if attributes.mode == "minor" and rng.random() < 0.12 else f"{tonic} {mode}"
        if rng.random() < 0.6:
            name = name[0].upper() + name[1:]
        return rng.choice(words.KEY_PHRASES).format(name)
    return rng.choice(words.MODE_PHRASES).format(attributes.mode) if chance < 0.62 else ""


def tempo(attributes: Attributes, rng: random.Random) -> str:
    """The beats a minute, or nothing."""
    return rng.choice(words.BPM_PHRASES).format(round(attributes.bpm)) if rng.random() < 0.5 else ""


def meter(attributes: Attributes, rng: random.Random) -> str:
    """The metre; a waltz is named more often than four beats."""
    if attributes.meter == 3:
        return rng.choice(words.WALTZ_PHRASES) if rng.random() < 0.75 else ""
    return rng.choice(words.COMMON_PHRASES) if rng.random() < 0.08 else ""


def instruments(attributes: Attributes, wishes: list[int], rng: random.Random) -> str:
    """Some or all of the players."""
    named = sorted(attributes.named, key=v.NAMED.index)
    if not named or rng.random() < 0.2:
        return ""
    if len(named) == 1 and rng.random() < 0.75:
        for at in range(len(wishes)):
            wishes[at] = 1 if v.NAMED[at] == named[0] else 2
        return rng.choice(words.SOLO_PHRASES).format(rng.choice(words.INSTRUMENTS[named[0]]))
    told = rng.sample(named, rng.randint(1, min(4, len(named))))
    for name in told:
        wishes[v.NAMED.index(name)] = 1
    names = [rng.choice(words.INSTRUMENTS[name]) for name in told]
    if rng.random() < 0.25:
        names = [rng.choice(("a ", "some ", "soft ", "gentle ", "two ")) + name for name in names]
    last = rng.choice((" and ", " and ", " & ", " plus ", " over "))
    listed = names[0] if len(names) == 1 else ", ".join(names[:-1]) + last + names[-1]
    return rng.choice(words.WITH_PHRASES).format(listed)


def exclusions(attributes: Attributes, wishes: list[int], rng: random.Random) -> str:
    """One or two instruments that do not play."""
    free = [name for name in v.NAMED if name not in attributes.named]
    if rng.random() > 0.22 or not free or 2 in wishes:
        return ""
    likely = [name for name in ("drums", "bass", "piano", "guitar", "strings") if name in free]
    left = rng.sample(likely or free, 1 if rng.random() < 0.75 or len(likely) < 2 else 2)
    for name in left:
        wishes[v.NAMED.index(name)] = 2
    joined = rng.choice((" or ", " and ")).join(rng.choice(words.INSTRUMENTS[name]) for name in left)
    return rng.choice(words.WITHOUT_PHRASES).format(joined)

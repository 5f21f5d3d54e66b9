"""Forms of pieces: which section each bar belongs to, and from how far back it returns."""

import dataclasses
import random


@dataclasses.dataclass
class Section:
    """Consecutive bars of one kind; `again` bars ago the same were played, 0 where they are new."""

    kind: str
    start: int
    bars: int
    again: int


def make_form(bars: int, rng: random.Random) -> list[Section]:
    """Sections of a piece of so many bars; the last bar is the end."""
    unit = 4 if bars < 24 or rng.random() < 0.4 else 8
    sections: list[Section] = []
    at, first = 0, {}
    if bars > 12 and rng.random() < 0.6:
        intro = rng.choice((2, 4))
        sections.append(Section("intro", 0, intro, 0))
        at = intro
    order = rng.choice(("aaba", "abab", "aabc", "aba", "abac"))
    place = 0
    while at < bars - 1:
        kind = order[place % len(order)]
        length = min(unit, bars - 1 - at)
        again = at - first[kind] if kind in first and at - first[kind] in (4, 8, 16) else 0
        if not again:
            first[kind] = at
        sections.append(Section(kind, at, length, again))
        at, place = at + length, place + 1
    sections.append(Section("end", bars - 1, 1, 0))
    return sections

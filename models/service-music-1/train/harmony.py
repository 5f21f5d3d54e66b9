"""Chord progressions of the teacher, as chord numbers above the tonic."""

import random

from .vocabulary import chord_number, chord_tones

MAJOR_SCALE, MINOR_SCALE = (0, 2, 4, 5, 7, 9, 11), (0, 2, 3, 5, 7, 8, 10)
DEGREES = {
    "major": {
        "I": (0, "maj"), "ii": (2, "min"), "iii": (4, "min"), "IV": (5, "maj"), "V": (7, "maj"), "vi": (9, "min"),
        "I7": (0, "maj7"), "ii7": (2, "m7"), "IV7": (5, "maj7"), "V7": (7, "7"), "vi7": (9, "m7"), "iii7": (4, "m7"),
        "VI7": (9, "7"), "bVII": (10, "maj"), "II7": (2, "7"), "iv": (5, "min"),
    },
    "minor": {
        "i": (0, "min"), "III": (3, "maj"), "iv": (5, "min"), "v": (7, "min"), "V": (7, "maj"), "VI": (8, "maj"),
        "VII": (10, "maj"), "i7": (0, "m7"), "iv7": (5, "m7"), "V7": (7, "7"), "VI7": (8, "maj7"), "bII": (1, "maj"),
    },
}  # fmt: skip
PLAIN = {
    "major": ["I IV I V", "I V vi IV", "I vi IV V", "I IV V I", "I ii V I", "I IV ii V", "I iii IV V", "I V IV I", "I bVII IV I"],
    "minor": ["i iv i V", "i VI iv V", "i iv V i", "i VII VI V", "i v i iv", "i III iv V", "i iv VII i", "i VI VII i", "i v VI iv"],
}
RICH = {
    "major": ["I7 vi7 ii7 V7", "I7 IV7 ii7 V7", "I7 VI7 ii7 V7", "I7 ii7 V7 I7", "I7 II7 ii7 V7", "I7 IV7 I7 V7", "I7 iii7 ii7 V7"],
    "minor": ["i7 iv7 i7 V7", "i7 VI7 iv7 V7", "i7 iv7 V7 i7", "i7 bII i7 V7", "i7 iv7 VI7 V7"],
}
CONTRAST = {
    "major": ["IV V I vi", "IV I IV V", "vi ii V I", "IV iv I V", "ii V I I"],
    "minor": ["iv i iv V", "VI VII i i", "iv VII III V", "VI iv i V", "iv V i i"],
}
RICH_GENRES = {"jazz", "lofi", "bossa"}
SLOW_GENRES = {"ambient"}


def scale_of(mode: str) -> tuple[int, ...]:
    """Semitones of the scale above the tonic."""
    return MAJOR_SCALE if mode == "major" else MINOR_SCALE


def parse(progression: str, mode: str) -> list[int]:
    """Chord numbers of a progression written in degrees."""
    return [chord_number(*DEGREES[mode][name]) for name in progression.split()]


def tonic_chord(mode: str, genre: str) -> int:
    """The chord that a piece begins and ends with."""
    rich = genre in RICH_GENRES and mode == "major"
    return chord_number(0, "maj7" if rich else "maj" if mode == "major" else "min")


def section_chords(kind: str, bars: int, mode: str, genre: str, rng: random.Random) -> list[tuple[int, int]]:
    """First and second chord of each bar of a section."""
    pool = RICH if genre in RICH_GENRES else PLAIN
    chosen = parse(rng.choice((CONTRAST if kind in "bc" else pool)[mode]), mode)
    if genre in SLOW_GENRES:
        chosen = [chord for chord in chosen[:2] for _ in range(2)]
    spread = genre in ("jazz", "classical", "bossa") and rng.random() < 0.35
    if spread:
        pairs = [(chosen[at % 4], chosen[(at + 1) % 4]) for at in (0, 2)] * 2
        return [pairs[bar % 4] for bar in range(bars)]
    return [(chosen[bar % 4], chosen[bar % 4]) for bar in range(bars)]


def voicing(chord: int, before: list[int], centre: float) -> list[int]:
    """Three rising pitches above C of the chord's tones that move least from `before`, about a centre."""
    tones = chord_tones(chord)
    best, least = [], 1e9
    for inversion in range(3):
        order = tones[inversion:] + tones[:inversion]
        for octave in (0, 12, 24):
            notes = [order[0] + octave]
            for tone in order[1:]:
                notes.append(tone + 12 * ((notes[-1] - tone) // 12 + 1))
            travel = sum(abs(a - b) for a, b in zip(notes, before)) if before else 0
            cost = travel + 1.2 * abs(sum(notes) / 3 - centre)
            if cost < least and 0 <= notes[0] and notes[-1] < 36:
                best, least = notes, cost
    return best

"""Melodies of the teacher: rhythm motifs that come back, and pitches that step between chord tones."""

import random

from .harmony import scale_of
from .vocabulary import chord_tones

Note = tuple[int, int, int]
"""(step in the bar, length in steps, pitch above C of the voice)."""
WEIGHTS = {"soft": (1.0, 0.35, 0.03), "medium": (1.0, 0.6, 0.08), "strong": (1.0, 0.75, 0.2)}
"""Chance that a note begins on a beat, on the half of a beat, on a sixteenth."""


def rhythm(steps: int, energy: str, rng: random.Random) -> list[int]:
    """Steps at which notes begin in a bar: 2 to 8 of them."""
    beat, half, quarter = WEIGHTS[energy]
    chances = [beat if step % 4 == 0 else half if step % 2 == 0 else quarter for step in range(steps)]
    found = [step for step, chance in enumerate(chances) if rng.random() < 0.62 * chance]
    if len(found) < 2:
        found = [0, steps // 2]
    return found[:8]


class Melodist:
    """Writes one voice, bar after bar."""

    def __init__(self, mode: str, low: int, high: int, rng: random.Random) -> None:
        self.scale, self.low, self.high, self.rng = scale_of(mode), low, high, rng
        self.pitch = rng.randint(low + 4, high - 4)

    def phrase(self, chords: list[tuple[int, int]], steps: int, energy: str, closes: bool) -> list[list[Note]]:
        """Bars of a phrase; odd bars answer the even ones, the last bar ends long."""
        motifs = [rhythm(steps, energy, self.rng) for _ in range(2)]
        bars = []
        for number, pair in enumerate(chords):
            begins = motifs[number % 2]
            if number == len(chords) - 1:
                begins = [step for step in begins if step < steps // 2] or [0]
            bars.append(self.bar(begins, pair, steps, number == len(chords) - 1, closes))
        return bars

    def bar(self, begins: list[int], chords: tuple[int, int], steps: int, ends: bool, closes: bool) -> list[Note]:
        """Notes of a bar that begin at the given steps."""
        notes = []
        for place, begin in enumerate(begins):
            following = begins[place + 1] if place + 1 < len(begins) else steps
            chord = chords[0] if begin < steps // 2 else chords[1]
            final = ends and place == len(begins) - 1
            self.pitch = self.next_pitch(chord, begin % 4 == 0 or final, home=final and closes)
            notes.append((begin, min(following - begin, 8 if not final else 12), self.pitch))
        return notes

    def next_pitch(self, chord: int, strong: bool, home: bool) -> int:
        """Near the last one; strong notes are chord tones, other notes of the scale."""
        tones = set(chord_tones(chord))
        allowed = {0} if home else tones if strong else set(self.scale) | tones
        if not strong and 11 in tones:
            allowed -= {10}
        options = [pitch for pitch in range(self.low, self.high + 1) if pitch % 12 in allowed]
        middle = (self.low + self.high) / 2
        weights = []
        for option in options:
            move = abs(option - self.pitch)
            weight = 2.0 ** (-abs(move - 2) / 1.6) * (0.25 if move == 0 else 1.0)
            weights.append(weight * 2.0 ** (-abs(option - middle) / 9) + 1e-9)
        return self.rng.choices(options, weights)[0]


def harmony_below(notes: list[Note], mode: str, low: int) -> list[Note]:
    """The same notes a third of the scale lower."""
    scale = scale_of(mode)
    lowered = []
    for begin, length, pitch in notes:
        below = [other for other in range(pitch - 5, pitch - 2) if other % 12 in scale]
        lowered.append((begin, length, max(low, below[-1] if below else pitch - 4)))
    return lowered

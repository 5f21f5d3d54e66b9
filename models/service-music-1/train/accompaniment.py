"""Chords, pads and bass lines of the teacher."""

import random

from .harmony import voicing
from .vocabulary import chord_tones

Voiced = tuple[int, int, int, int]
"""(part 0..2, step in the bar, length in steps, pitch above the part's lowest C)."""
STYLES = {
    "piano": ["block", "half", "arpeggio", "offbeat"], "guitar": ["strum", "arpeggio", "arpeggio"],
    "electric guitar": ["pulse", "strum", "block"], "harp": ["arpeggio", "wide"], "organ": ["block", "half", "offbeat"],
    "marimba": ["arpeggio", "pulse"], "bells": ["arpeggio"], "synth lead": ["wide"], "strings": ["half"],
    "trumpet": ["half"], "clarinet": ["half"], "flute": ["half"], "pad": ["block"],
}  # fmt: skip
GENRE_STYLES = {"bossa": "bossa", "jazz": "comp", "rock": "pulse", "electronic": "wide"}
RHYTHMS = {"bossa": (0, 3, 6, 10, 13), "comp": (0, 6), "strum": (0, 4, 6, 10, 12), "pulse": tuple(range(0, 16, 2))}
ORDERS = [(0, 1, 2, 1), (0, 1, 2), (2, 1, 0, 1), (0, 2, 1, 2)]


class Comper:
    """Plays chords in one style throughout."""

    def __init__(self, player: str, genre: str, steps: int, centre: float, rng: random.Random) -> None:
        style = rng.choice(STYLES[player])
        if genre in GENRE_STYLES and player in ("piano", "guitar", "electric guitar") and rng.random() < 0.6:
            style = GENRE_STYLES[genre]
        self.style, self.steps, self.centre = style, steps, centre
        self.order = rng.choice(ORDERS)
        self.notes: list[int] = []

    def bar(self, chords: tuple[int, int]) -> list[Voiced]:
        """All that the three parts begin in a bar."""
        half = self.steps // 2 if self.steps == 16 else 8
        played: list[Voiced] = []
        for chord, start, end in ((chords[0], 0, half), (chords[1], half, self.steps)):
            self.notes = voicing(chord, self.notes, self.centre)
            played += self.half_bar(start, end, chords[0] == chords[1])
        return played

    def half_bar(self, start: int, end: int, same: bool) -> list[Voiced]:
        """The part of a bar that has one chord."""
        if self.style in ("arpeggio", "wide"):
            pace = 2 if self.style == "arpeggio" else 1
            return [
                (self.order[place % len(self.order)], step, pace * 2, self.notes[self.order[place % len(self.order)]])
                for place, step in enumerate(range(start, end, pace))
            ]
        if self.style == "block":
            begins = [] if same and start else [start]
            length = self.steps if same else end - start
        elif self.style == "offbeat":
            begins, length = [step for step in range(start, end) if step % 4 == 2], 2
        elif self.style in RHYTHMS:
            begins, length = [step for step in RHYTHMS[self.style] if start <= step < end], 2
        else:
            begins, length = [start], end - start
        return [(part, step, min(length, self.steps - step), self.notes[part]) for step in begins for part in range(3)]


class PadPlayer(Comper):
    """Holds each chord as long as it lasts."""

    def __init__(self, steps: int, centre: float) -> None:
        self.style, self.steps, self.centre, self.order, self.notes = "block", steps, centre, (0, 1, 2), []


class Bassist:
    """Plays the roots in one manner."""

    def __init__(self, genre: str, steps: int, energy: int, rng: random.Random) -> None:
        manners = {
            "jazz": ["walk"], "bossa": ["bossa"], "rock": ["eighths"], "electronic": ["offbeat", "eighths"],
            "pop": ["fifths", "eighths"], "lofi": ["lazy"], "folk": ["fifths"], "ambient": ["whole"],
            "cinematic": ["whole", "eighths"], "classical": ["fifths", "whole"],
        }  # fmt: skip
        self.manner = rng.choice(manners[genre]) if energy > 0 else rng.choice(["whole", "fifths"])
        self.steps, self.rng = steps, rng
        self.pitch = 12

    def near(self, pitch_class: int) -> int:
        """The pitch 7..23 of a class, next to the last one."""
        options = [pitch for pitch in range(7, 24) if pitch % 12 == pitch_class]
        self.pitch = min(options, key=lambda pitch: abs(pitch - self.pitch) + 0.2 * abs(pitch - 13))
        return self.pitch

    def bar(self, chords: tuple[int, int], following: int) -> list[tuple[int, int, int]]:
        """(step, length, pitch) of a bar; `following` is the next bar's chord."""
        half = 8
        tones = [chord_tones(chord) for chord in chords]
        root, second = self.near(tones[0][0]), None
        if chords[0] != chords[1]:
            second = self.near(tones[1][0])
        later = second if second is not None else self.fifth(root, tones[0])
        if self.manner == "whole":
            return [(0, half, root), (half, self.steps - half, second)] if second is not None else [(0, self.steps, root)]
        if self.manner == "walk":
            return self.walk(tones, root, chord_tones(following)[0])
        if self.manner == "lazy":
            return [(0, 6, root), (10, self.steps - 10, later)]
        patterns = {
            "fifths": [(0, half, 0), (half, self.steps - half, 1)],
            "eighths": [(step, 2, int(second is not None and step >= half)) for step in range(0, self.steps, 2)],
            "offbeat": [(step, 2, int(second is not None and step >= half)) for step in range(2, self.steps, 4)],
            "bossa": [(0, 6, 0), (6, 2, 1), (8, 6, 1), (14, 2, 0)],
        }
        rows = [row for row in patterns[self.manner] if row[0] < self.steps]
        return [(step, min(length, self.steps - step), (root, later)[which]) for step, length, which in rows]

    def fifth(self, root: int, tones: list[int]) -> int:
        """The fifth of the chord, above or below the root."""
        up = root + (tones[2] - tones[0]) % 12
        return up if up < 22 else up - 12

    def walk(self, tones: list[list[int]], root: int, target: int) -> list[tuple[int, int, int]]:
        """A note a beat; the last one leads to the next root."""
        line = [root]
        for beat in range(1, self.steps // 4 - 1):
            chord = tones[0] if beat < 2 else tones[1]
            line.append(self.near(chord[0] if beat == 2 and tones[0] != tones[1] else self.rng.choice(chord[1:])))
        approach = self.near((target + self.rng.choice((-1, 1, 7))) % 12)
        return [(4 * beat, 4, pitch) for beat, pitch in enumerate([*line, approach])]

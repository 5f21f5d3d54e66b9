"""Drum grooves of the teacher: what each drum voice plays at each sixteenth."""

import random

GROOVES = {
    "rock": [("x.......x.x.....", "....X.......X...", "x.x.x.x.x.x.x.x."), ("x.....x.x.......", "....X.......X...", "x.x.x.x.x.x.x.x.")],
    "pop": [("x.......x.......", "....X.......X...", "x.x.x.x.x.x.x.x."), ("x..x....x.x.....", "....X.......X...", "x.x.x.x.x.x.x.o.")],
    "jazz": [("x.......x.......", "...........x....", "x...x.x.x...x.x."), ("x...x...x...x...", "......x.........", "x...x.x.x...x.x.")],
    "lofi": [("x.....x...x.....", "....X.......X...", "x.x.x.x.x.x.x.x."), ("x......x..x.....", "....X.......X..x", "x.x.x.xxx.x.x.x.")],
    "electronic": [("X...X...X...X...", "....x.......x...", "..o...o...o...o."), ("X...X...X...X...", "............x...", "x.o.x.o.x.o.x.o.")],
    "bossa": [("x..xx..xx..xx..x", "x..x..x...x..x..", "x.x.x.x.x.x.x.x."), ("x..xx..xx..xx..x", "x..x...x..x..x..", "xxxxxxxxxxxxxxxx")],
    "folk": [("x.......x.......", "....x.......x...", "x...x...x...x..."), ("x.......x...x...", "....x.......x...", "..x...x...x...x.")],
    "cinematic": [("X.....x...x.....", "............X...", "................"), ("X...x...X...x...", "....x.......X...", "x.x.x.x.x.x.x.x.")],
    "ambient": [("x...............", "........x.......", "....x.......x..."), ("x.........x.....", "................", "..x...x...x...x.")],
    "classical": [("x.......x.......", "............x...", "................"), ("x...............", "....x.......x...", "................")],
}  # fmt: skip
WALTZES = [("x...........", "....x...x...", "x...x...x..."), ("x.......x...", "....x.......", "x.x.x.x.x.x.")]
SHAKER_GENRES = {"bossa", "folk", "lofi", "ambient"}


class Kit:
    """One groove for a piece, with fills and crashes where sections meet."""

    def __init__(self, genre: str, meter: int, energy: int, rng: random.Random) -> None:
        rows = rng.choice(GROOVES[genre] if meter == 4 else WALTZES)
        self.rows, self.energy, self.steps = rows, energy, 4 * meter
        self.shaker = genre in SHAKER_GENRES and rng.random() < 0.5
        self.rng = rng

    def bar(self, first: bool, last: bool) -> list[tuple[int, int, float, int]]:
        """(step, drum voice 0..3, velocity, token) of a bar at the start or end of a section."""
        hits = []
        for voice, row in enumerate(self.rows):
            for step, sign in enumerate(row[: self.steps]):
                if sign == ".":
                    continue
                if voice == 2 and self.energy == 0 and step % 4 != 0:
                    continue
                beat = 0.1 if step % 4 == 0 else 0.0
                hits.append((step, voice, (0.85 if sign == "X" else 0.68) + beat, 2 if sign == "o" else 1))
        if self.shaker:
            hits += [(step, 3, 0.45 + 0.15 * (step % 4 == 0), 2) for step in range(0, self.steps, 2)]
        if first and self.energy > 0:
            hits = [hit for hit in hits if hit[:2] != (0, 3)] + [(0, 3, 0.75, 1)]
        if last:
            fill = range(self.steps - 4, self.steps)
            hits = [hit for hit in hits if hit[1] != 1 or hit[0] not in fill]
            hits += [(step, 1, 0.6 + 0.08 * place, 1) for place, step in enumerate(fill) if step % 2 == 0 or self.energy > 0]
        return hits

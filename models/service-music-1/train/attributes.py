"""What a piece is: drawn at random, correlated as in music."""

import dataclasses
import math
import random

from . import vocabulary as v
from .ensembles import make_ensemble

TEMPI = {
    "classical": (95, 0.3), "pop": (112, 0.15), "rock": (130, 0.14), "jazz": (125, 0.28), "lofi": (80, 0.1),
    "electronic": (126, 0.09), "ambient": (68, 0.18), "folk": (104, 0.2), "cinematic": (92, 0.25), "bossa": (128, 0.13),
}  # fmt: skip
"""Median beats a minute and spread in log units."""
ENERGY_WEIGHTS = {
    "classical": (4, 4, 2), "pop": (2, 5, 3), "rock": (1, 4, 6), "jazz": (3, 5, 2), "lofi": (6, 4, 0.5),
    "electronic": (1, 4, 6), "ambient": (8, 2, 0.3), "folk": (4, 5, 2), "cinematic": (3, 3, 5), "bossa": (4, 5, 1),
}  # fmt: skip
MOODS = {
    "happy": ("major", 1.12, 1), "sad": ("minor", 0.8, 0), "calm": (None, 0.8, 0), "dark": ("minor", 0.95, None),
    "energetic": (None, 1.2, 2), "romantic": ("major", 0.85, 0), "epic": (None, 1.0, 2), "dreamy": (None, 0.85, 0),
    "tense": ("minor", 1.1, 2), "playful": ("major", 1.15, 1),
}  # fmt: skip
"""Mode, factor of the tempo and energy that a mood stands for."""


@dataclasses.dataclass
class Attributes:
    """Everything that the prompt may say of a piece."""

    genre: str
    mode: str
    tonic: int
    meter: int
    energy: str
    bpm: float
    mood: str | None
    players: dict[str, str | None]

    @property
    def named(self) -> set[str]:
        """Instruments that play."""
        return {player for player in self.players.values() if player}


def draw_attributes(rng: random.Random) -> Attributes:
    """A random piece's attributes."""
    genre = rng.choice(v.GENRES)
    mood = rng.choice(list(MOODS)) if rng.random() < 0.5 else None
    mode = rng.choice(v.MODES)
    centre, spread = TEMPI[genre]
    bpm = centre * math.exp(rng.gauss(0, spread))
    energy = rng.choices(v.ENERGIES, ENERGY_WEIGHTS[genre])[0]
    if mood:
        wanted, factor, level = MOODS[mood]
        mode = wanted if wanted and rng.random() < 0.97 else mode
        energy = v.ENERGIES[level] if level is not None and rng.random() < 0.9 else energy
        bpm *= factor
    if rng.random() < 0.3:
        bpm = math.exp(rng.uniform(math.log(45), math.log(205)))
    bpm = float(round(min(208.0, max(44.0, bpm))))
    meter = 3 if rng.random() < (0.25 if genre in ("classical", "folk", "jazz", "cinematic") else 0.04) else 4
    return Attributes(genre, mode, rng.randrange(12), meter, energy, bpm, mood, make_ensemble(genre, rng))

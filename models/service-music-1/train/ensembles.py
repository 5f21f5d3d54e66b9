"""Who plays what: typical and chance ensembles of the teacher."""

import random

from .vocabulary import PITCHED, TRACKS

CAN = {
    "lead": {"piano": 3, "guitar": 2, "electric guitar": 2, "harp": 1, "strings": 2, "flute": 4, "clarinet": 4, "trumpet": 4, "organ": 1, "synth lead": 4, "bells": 3, "marimba": 3},
    "counter": {"strings": 3, "flute": 3, "clarinet": 3, "trumpet": 3, "bells": 3, "synth lead": 2, "marimba": 1, "guitar": 1, "electric guitar": 1, "piano": 1},
    "comp": {"piano": 4, "guitar": 4, "electric guitar": 3, "harp": 4, "organ": 3, "marimba": 3, "bells": 1, "synth lead": 1},
    "pad": {"strings": 4, "pad": 5, "organ": 2, "trumpet": 1, "clarinet": 0.5, "flute": 0.3},
}  # fmt: skip
"""How readily an instrument takes a track."""
TYPICAL = {
    "classical": {"lead": ["flute", "piano", "clarinet", "strings"], "comp": ["piano", "harp"], "pad": ["strings"], "rhythm": 0.1},
    "pop": {"lead": ["piano", "synth lead", "guitar"], "comp": ["piano", "guitar"], "pad": ["pad", "strings"], "rhythm": 0.95},
    "rock": {"lead": ["electric guitar", "organ"], "comp": ["electric guitar"], "pad": ["organ", "strings"], "rhythm": 1.0},
    "jazz": {"lead": ["trumpet", "clarinet", "piano"], "comp": ["piano", "guitar"], "pad": ["organ"], "rhythm": 0.9},
    "lofi": {"lead": ["bells", "piano", "flute"], "comp": ["piano", "guitar"], "pad": ["pad"], "rhythm": 0.95},
    "electronic": {"lead": ["synth lead", "bells"], "comp": ["synth lead", "organ"], "pad": ["pad"], "rhythm": 1.0},
    "ambient": {"lead": ["bells", "flute", "piano"], "comp": ["harp", "piano"], "pad": ["pad", "strings"], "rhythm": 0.15},
    "folk": {"lead": ["flute", "guitar", "clarinet"], "comp": ["guitar"], "pad": ["strings"], "rhythm": 0.5},
    "cinematic": {"lead": ["strings", "trumpet", "flute"], "comp": ["harp", "piano"], "pad": ["strings"], "rhythm": 0.7},
    "bossa": {"lead": ["flute", "guitar", "piano"], "comp": ["guitar"], "pad": ["strings"], "rhythm": 0.9},
}  # fmt: skip
Ensemble = dict[str, str | None]


def make_ensemble(genre: str, rng: random.Random) -> Ensemble:
    """Player of each track; None where nobody plays it. Somebody plays lead or comp."""
    return typical(genre, rng) if rng.random() < 0.5 else by_chance(rng)


def typical(genre: str, rng: random.Random) -> Ensemble:
    """What the genre is known for."""
    known = TYPICAL[genre]
    rhythm = known["rhythm"]
    players: Ensemble = dict.fromkeys(TRACKS)
    players["lead"] = rng.choice(known["lead"]) if rng.random() < 0.9 else None
    players["comp"] = rng.choice(known["comp"]) if rng.random() < 0.85 or not players["lead"] else None
    players["pad"] = rng.choice(known["pad"]) if rng.random() < 0.5 else None
    players["counter"] = rng.choices(list(CAN["counter"]), list(CAN["counter"].values()))[0] if rng.random() < 0.2 else None
    players["bass"] = "bass" if rng.random() < max(rhythm, 0.3) else None
    players["drums"] = "drums" if rng.random() < rhythm else None
    return players


def by_chance(rng: random.Random) -> Ensemble:
    """One to four melodic instruments on the tracks that suit them, with or without bass and drums."""
    players: Ensemble = dict.fromkeys(TRACKS)
    if rng.random() < 0.12:
        solo = rng.choice(["piano", "guitar", "harp", "marimba", "organ", "bells"])
        return {**players, "lead": solo, "comp": solo if rng.random() < 0.8 or solo == "bells" else None}
    melodic = [name for name in PITCHED if name != "bass"]
    for name in rng.sample(melodic, rng.choice((1, 2, 2, 3, 3, 4))):
        free = [track for track in CAN if not players[track] and name in CAN[track]]
        if free:
            players[rng.choices(free, [CAN[track][name] for track in free])[0]] = name
    if not any(players.values()):
        players["lead"] = rng.choice(melodic[:9])
    players["bass"] = "bass" if rng.random() < 0.5 else None
    players["drums"] = "drums" if rng.random() < 0.5 else None
    return players

"""Random scenes of the procedural world."""

import random

from . import vocabulary as words

WEATHERLESS = ("space", "underwater")

Scene = dict
"""setting, time, weather, subject, colour, motion, camera, size (values of vocabulary.py), seconds."""


def sample_scene(rng: random.Random) -> Scene:
    """A scene; impossible combinations are replaced, likely subjects preferred."""
    setting = rng.choice(words.SETTINGS)
    weather = rng.choice(["clear"] * 5 + ["rain", "snow", "fog"])
    subject = sample_subject(setting, rng)
    return {
        "setting": setting,
        "time": "night" if setting == "space" else rng.choice(words.TIMES_OF_DAY),
        "weather": "clear" if setting in WEATHERLESS else weather,
        "subject": subject,
        "colour": rng.choice(list(words.COLOURS)),
        "motion": sample_motion(subject, rng),
        "camera": rng.choice(["static"] * 6 + ["left", "left", "right", "right", "in", "in", "out", "out"]),
        "size": rng.choice(["normal"] * 3 + ["small", "big"]),
        "seconds": rng.choice([4, 4, 4, 4, 5, 6, 7, 8, 9, 10]),
    }


def sample_subject(setting: str, rng: random.Random) -> str:
    """One scene in ten is empty."""
    if rng.random() < 0.1:
        return "none"
    if setting in words.LIKELY_SUBJECTS and rng.random() < 0.5:
        return rng.choice(words.LIKELY_SUBJECTS[setting])
    return rng.choice(words.SUBJECTS[:-1])


def sample_motion(subject: str, rng: random.Random) -> str:
    """Crossing motions are the most frequent; trees and houses mostly stand."""
    if subject == "none" or (subject in ("tree", "house") and rng.random() < 0.7):
        return "still"
    if subject == "rocket" and rng.random() < 0.3:
        return "rise"
    if subject in ("ball", "cat") and rng.random() < 0.2:
        return "bounce"
    return rng.choice(["still"] + ["lr"] * 3 + ["rl"] * 3 + ["rise", "fall", "bounce", "spin"])

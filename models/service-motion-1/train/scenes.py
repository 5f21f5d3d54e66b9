"""Random scenes of the procedural world, and their numbers for the renderer."""

import random

import numpy as np

from . import vocabulary as words

PARAMETERS = 20
SUBJECT_SIZE = {"small": 0.11, "normal": 0.15, "big": 0.21}
"""Half size in frame heights."""
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
        "camera": rng.choice(["static"] * 4 + ["left", "left", "right", "right", "in", "out"]),
        "size": rng.choice(["normal"] * 3 + ["small", "big"]),
        "seconds": rng.choice([4, 4, 4, 5, 6, 8, 10]),
    }


def sample_subject(setting: str, rng: random.Random) -> str:
    """5 % of the scenes are empty."""
    if rng.random() < 0.05:
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


def scene_parameters(scene: Scene, rng: random.Random) -> np.ndarray:
    """[20] float32 in the order that scene.h documents; chance adds size, place and phases."""

    def spread(width):
        return width * (2 * rng.random() - 1)

    size = SUBJECT_SIZE[scene["size"]] * (1 + spread(0.12))
    if scene["subject"] in ("balloon", "tree", "house", "rocket"):
        size *= 1.2
    values = np.zeros(PARAMETERS, np.float32)
    values[:6] = [
        words.SETTINGS.index(scene["setting"]),
        words.TIMES_OF_DAY.index(scene["time"]),
        words.WEATHERS.index(scene["weather"]),
        words.SUBJECTS.index(scene["subject"]),
        words.MOTIONS.index(scene["motion"]),
        words.CAMERAS.index(scene["camera"]),
    ]
    values[6:9] = np.clip(np.array(words.COLOURS[scene["colour"]]) * (1 + spread(0.10)), 0, 1)
    values[9:13] = [size, rng.random(), rng.random(), spread(0.03)]
    crossing = scene["motion"] in ("lr", "rl")
    values[13:15] = [scene["seconds"], 0.40 + 0.16 * rng.random()]
    values[15:18] = [spread(0.10) + (0 if crossing else spread(0.25)), spread(0.02), spread(0.12)]
    return values


def without_subject(parameters: np.ndarray) -> np.ndarray:
    """The same scene, empty."""
    empty = parameters.copy()
    empty[3] = words.SUBJECTS.index("none")
    return empty

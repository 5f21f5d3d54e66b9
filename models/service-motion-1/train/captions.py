"""Captions of scenes: a small grammar with synonyms, free order, omissions, noise and typing errors.

A caption without a word of it means: middle size, clear weather, resting camera.
"""

import random
import re

from . import caption_words as says
from .scenes import Scene

PREPOSITIONS = (
    "in the|across the|over the|on the|at the|near the|in a|through the|with a background of|in|beside the|before a|"
)
OPENINGS = ["the", "a", "view of the", "landscape of the", "empty", ""]
STRAY_WORDS = "with and while very some his it its there is slowly quickly gently style scene of by".split()
CONSONANTS, VOWELS = "bcdfghjklmnprstvwz", "aeiou"


MORE_SHARE = 0.85
"""How often a word of a larger lexicon is taken, where there is one."""


class Chooser(random.Random):
    """A random source that also chooses words; more: attribute -> value -> words beyond the grammar's."""

    more: dict[str, dict[str, list[str]]] | None = None

    def word(self, name: str, table: dict[str, list[str]], value: str) -> str:
        """A word for a value of an attribute."""
        others = (self.more or {}).get(name, {}).get(value)
        if others and self.random() < MORE_SHARE:
            return others[int(len(others) * self.random() ** 2)]  # the first ones are more common
        return self.choice(table[value])


def write_caption(scene: Scene, rng: Chooser) -> tuple[str, set[str]]:
    """-> the caption, and the names of the attributes that it states."""
    stated = {"subject"}
    subject = describe_subject(scene, rng, stated)
    parts = describe_surroundings(scene, rng, stated, bool(subject))
    if rng.random() < 0.35:
        rng.shuffle(parts)
    if rng.random() < 0.3:
        parts.insert(rng.randint(0, len(parts)), rng.choice(says.FILLERS))
    camera = describe_camera(scene, rng, stated)
    if camera:
        place = rng.choice([len(parts)] * 3 + [0])
        parts.insert(place, rng.choice([", ", ", ", "and "]) + camera)
    text = join(subject, parts, rng)
    if rng.random() < 0.25:
        text = insert_strays(text, rng)
    if rng.random() < 0.08:
        place = rng.randint(0, max(0, len(text) - 2))
        text = text[:place] + text[place + 1 :]
    return re.sub(r"\s+", " ", text).strip(" ,"), stated


def describe_subject(scene, rng, stated) -> str:
    """Article, adjectives, noun and verb; empty for an empty scene."""
    if scene["subject"] == "none":
        return ""
    adjectives = []
    stated.add("size")
    if scene["size"] != "normal":
        adjectives.append(rng.word("size", says.SIZE_WORDS, scene["size"]))
    if rng.random() < 0.25:
        adjectives.append(rng.choice(says.FILLERS))
    if rng.random() < 0.85:
        adjectives.append(rng.word("colour", says.COLOUR_WORDS, scene["colour"]))
        stated.add("colour")
    noun = rng.word("subject", says.SUBJECT_WORDS, scene["subject"])
    article = rng.choice(["a", "the", "one", "", "a"])
    return " ".join(
        item for item in [article, *adjectives, noun, describe_motion(scene, rng, stated)] if item
    )


def describe_motion(scene, rng, stated) -> str:
    """The verb, with a direction for crossings."""
    motion, subject = scene["motion"], scene["subject"]
    if motion in ("lr", "rl"):
        verb = rng.choice(says.MOVING_VERBS[subject])
        if rng.random() < 0.85:
            stated.add("motion")
            return verb + " " + rng.choice(says.RIGHTWARD if motion == "lr" else says.LEFTWARD)
        return verb + (" across" if rng.random() < 0.4 else "")
    if motion == "still":
        if rng.random() < 0.7:
            stated.add("motion")
            return rng.choice(says.STILL_VERBS[subject])
        return ""
    stated.add("motion")
    verbs = {
        "rise": says.RISING_VERBS,
        "fall": says.FALLING_VERBS,
        "bounce": says.BOUNCING_VERBS,
        "spin": says.SPINNING_VERBS,
    }
    return rng.choice(verbs[motion])


def describe_surroundings(scene, rng, stated, has_subject) -> list[str]:
    """Setting, time of day and weather."""
    parts = []
    if rng.random() < 0.9 or not has_subject:
        parts.append(describe_setting(scene["setting"], rng, has_subject))
        stated.add("setting")
    if scene["setting"] == "space":
        stated.add("time")
    elif rng.random() < 0.85:
        parts.append(rng.word("time", says.TIME_WORDS, scene["time"]))
        stated.add("time")
    stated.add("weather")
    if scene["weather"] != "clear" or rng.random() < 0.3:
        parts.append(rng.word("weather", says.WEATHER_WORDS, scene["weather"]))
    return parts


def describe_setting(setting, rng, has_subject) -> str:
    """Preposition and place."""
    opening = rng.choice(PREPOSITIONS.split("|") if has_subject else OPENINGS)
    if setting in ("space", "underwater", "sky") and rng.random() < 0.5:
        opening = "" if setting == "underwater" else "in"
    return (opening + " " + rng.word("setting", says.SETTING_WORDS, setting)).strip()


def describe_camera(scene, rng, stated) -> str:
    """The camera's motion; a static camera is mostly not mentioned."""
    stated.add("camera")
    return rng.choice(says.CAMERA_WORDS[scene["camera"]])


def join(subject: str, parts: list[str], rng: random.Random) -> str:
    """Subject first (mostly), last, or as one item of a list."""
    body = rng.choice([" ", " ", ", ", ", ", " and "]).join(part for part in parts if part)
    order = rng.random()
    if order < 0.7:
        return subject + " " + body
    if order < 0.9:
        return body + ", " + subject
    return ", ".join(item for item in [subject, *parts] if item)


def insert_strays(text: str, rng: random.Random) -> str:
    """One or two meaningless words at random places."""
    found = text.split(" ")
    for _ in range(rng.randint(1, 2)):
        found.insert(rng.randint(0, len(found)), rng.choice([invented_word(rng), rng.choice(STRAY_WORDS)]))
    return " ".join(found)


def invented_word(rng: random.Random) -> str:
    """One to three syllables and an ending."""
    syllables = [rng.choice(CONSONANTS) + rng.choice(VOWELS) for _ in range(rng.randint(1, 3))]
    return "".join(syllables) + rng.choice(["", "n", "s", "r", "t", "ing", "ed"])

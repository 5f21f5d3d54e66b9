"""Captions of scenes: a grammar with many words, free order, omissions, noise and typing errors.

A caption without a word of it means: middle size, clear weather, resting camera. Some captions are of things
that the world does not have: what they show is an empty scene.
"""

import random
import re

from . import caption_words as says
from .lexicon import irregular_participles, plural_of
from .scenes import Scene
from .vocabulary import MOTIONS, SUBJECTS

PREPOSITIONS = (
    "in the|across the|over the|on the|at the|near the|in a|through the|with a background of|in|beside the|before a|"
    "|along the|along a|above the|above a|by the|on a|over a|past the|around the|down the|down a|up the|through a|across a|towards the|into the|from the|out of the|under the|inside the"
).split("|")
OPENINGS = "the|a|view of the|landscape of the|empty||an empty|only the|a view over the".split("|")
STRAY_WORDS = "with and while very some his it its there is slowly quickly gently style scene of by".split()
ARTICLES = "a|the|one||a|a|my|her|his|our|this|that".split("|")
LEADS = (
    "|||||there is|watch|imagine|i see|show me|a clip of|a picture of|we see|look at|make a video of|draw"
    "|an illustration of|a painting of"
).split("|")
WISHES = (
    "please draw|can you make|can you draw|make me|i want|i would like|generate|create|paint|could you show me|please"
    "|a photo of|a short clip of|a video where|an image of|a poster with|picture this|animate"
).split("|")
STYLES = (
    "|||||||cartoon style|digital art|very detailed|hd|minimalist|for children|wallpaper|simple shapes|soft light"
    "|in flat colours|illustration"
).split("|")
ASPECTS = "concept idea feeling meaning taste smell sound history".split()
IMAGES = "diagram|logo|map|chart|photo|close up|sketch".split("|")
CONSONANTS, VOWELS = "bcdfghjklmnprstvwz", "aeiou"
IRREGULAR = {"be": ("is", "being"), "have": ("has", "having"), "not": ("does not", "not")}

MORE_SHARE = 0.5
"""How often a word of a larger lexicon is taken, where there is one."""
PHRASE_SHARE = 0.35
"""How often something is said as people do, where phrases are known."""
BARE_SHARE = 0.3
"""How often a subject has no verb, or a place no preposition, where phrases are known."""
PARTICIPLE_SHARE = 0.12
"""How often a subject's motion stands before it ("a bouncing ball"), where phrases are known."""
OUTSIDE_SHARE = 0.2
"""How often a caption is of a thing that the world does not have, where such words are known."""
PLURAL_SHARE = 0.12
"""How often a word of a lexicon that names things or people is in the plural."""
LOUDNESS = {"clear": ("calm", 0.2), "rain": ("storm", 0.45)}
"""Weather -> what is said instead, and how often."""
SAID_WEATHER = says.WEATHER_WORDS | {"calm": says.CALM_WORDS, "storm": says.STORM_WORDS}
COMMONER = 1.8
"""Words of a lexicon are drawn by a power of their rank: common ones come first."""


class Chooser(random.Random):
    """A random source that also chooses words.

    more: attribute -> value -> words beyond the grammar's; outside: kind -> words of nothing in the world;
    phrases: attribute -> value -> how people say it.
    """

    more: dict[str, dict[str, list[str]]] | None = None
    outside: dict[str, list[str]] | None = None
    phrases: dict[str, dict[str, list[str]]] | None = None

    def word(self, name: str, table: dict[str, list[str]], value: str) -> str:
        """A word for a value of an attribute."""
        others = (self.more or {}).get(name, {}).get(value)
        word = self.phrase(name, value) if name != "setting" else ""
        if not word and others and self.random() < MORE_SHARE:
            word = self.common(others)
        if not word:
            return self.choice(table[value])
        return self.maybe_plural(word) if name == "subject" else word

    def phrase(self, name: str, value: str) -> str:
        """Sometimes a phrase for a value; otherwise, and where none is known, nothing."""
        known = (self.phrases or {}).get(name, {}).get(value)
        return self.choice(known) if known and self.random() < PHRASE_SHARE else ""

    def common(self, words: list[str]) -> str:
        """One of the words, the first ones more often."""
        return words[int(len(words) * self.random() ** COMMONER)]

    def strange(self, kind: str) -> str:
        """A word of "thing", "person", "idea", "place" or "deed"."""
        phrase = self.phrase("subject", "unknown") if kind == "thing" else ""
        word = phrase or self.common(self.outside[kind])
        return self.maybe_plural(word) if kind in ("thing", "person") else word

    def maybe_plural(self, word: str) -> str:
        """The word, or its plural."""
        return plural_of(word) if self.random() < PLURAL_SHARE else word


def write_caption(scene: Scene, rng: Chooser) -> tuple[str, dict[str, str]]:
    """-> the caption, and what it says: attribute -> value, or one of vocabulary.EXTRAS."""
    said = {"subject": scene["subject"]}
    if rng.outside and scene["subject"] == "none" and rng.random() < 0.75:
        subject, said["subject"] = describe_strange(rng), "unknown"
        if rng.phrases and rng.random() < 0.4:
            mover = {"subject": rng.choice(SUBJECTS[:-1]), "motion": rng.choice(MOTIONS)}
            subject = f"{subject} {describe_motion(mover, rng, said)}"
    else:
        subject = describe_subject(scene, rng, said)
    parts = describe_surroundings(scene, rng, said, bool(subject))
    if rng.random() < 0.35:
        rng.shuffle(parts)
    if rng.random() < 0.3:
        parts.insert(rng.randint(0, len(parts)), rng.choice(says.FILLERS))
    camera = describe_camera(scene, rng, said)
    if camera:
        place = rng.choice([len(parts)] * 3 + [0])
        parts.insert(place, rng.choice([", ", ", ", "and "]) + camera)
    lead = rng.choice(WISHES if rng.phrases and rng.random() < 0.2 else LEADS)
    text = " ".join([lead, join(subject, parts, rng), rng.choice(STYLES)])
    if rng.random() < 0.25:
        text = insert_strays(text, rng)
    if rng.random() < 0.08:
        place = rng.randint(0, max(0, len(text) - 2))
        pair = text[place : place + 2]
        mistyped = pair[::-1] if rng.phrases and rng.random() < 0.5 else pair[1:]
        text = text[:place] + mistyped + text[place + 2 :]
    return re.sub(r"\s+", " ", text).strip(" ,"), said


def describe_subject(scene, rng, said) -> str:
    """Article, adjectives, noun and verb; empty for an empty scene."""
    if scene["subject"] == "none":
        return ""
    adjectives = []
    said["size"] = scene["size"]
    if scene["size"] != "normal":
        adjectives.append(rng.word("size", says.SIZE_WORDS, scene["size"]))
    if rng.random() < 0.3:
        adjectives.append(rng.choice(says.FILLERS))
    if rng.random() < 0.8:
        adjectives.append(rng.word("colour", says.COLOUR_WORDS, scene["colour"]))
        said["colour"] = scene["colour"]
    if rng.random() < 0.1:
        rng.shuffle(adjectives)
    noun = rng.word("subject", says.SUBJECT_WORDS, scene["subject"])
    if rng.phrases and rng.random() < PARTICIPLE_SHARE:
        said["motion"] = said_motion(scene["motion"], rng)
        adjectives.insert(rng.choice([0, len(adjectives)]), rng.choice(rng.phrases["motion_adjective"][said["motion"]]))
    if rng.phrases and rng.random() < BARE_SHARE:
        return keywords(noun, adjectives, scene, rng, said)
    phrase = " ".join(item for item in [rng.choice(ARTICLES), *adjectives, noun] if item)
    phrase = beside_others(phrase, rng)
    return phrase if "motion" in said else f"{phrase} {describe_motion(scene, rng, said)}".strip()


def keywords(noun, adjectives, scene, rng, said) -> str:
    """The noun, with its adjectives before or after it, often without a verb: "ball, red, falling"."""
    if rng.random() < 0.6:
        items = [" ".join([*adjectives, noun])]
    else:
        items = [noun, *adjectives]
    if "motion" not in said and rng.random() < 0.4:
        motion = describe_motion(scene, rng, said)
        items.insert(rng.choice([0, len(items)]), motion)
    return rng.choice([", ", " ", " "]).join(item for item in items if item)


def beside_others(phrase, rng) -> str:
    """Sometimes names another thing or person too: the first that can be drawn is the subject."""
    chance = rng.random()
    if not rng.outside or chance > 0.12:
        return phrase
    if chance < 0.04:
        return f"{phrase} {rng.choice(['with', 'near', 'next to', 'and'])} a {rng.strange('thing')}"
    if chance < 0.07:
        return f"{rng.choice(['a', 'the', 'my'])} {rng.strange('person')} {ing(rng.strange('deed'))} {phrase}"
    other = rng.choice(says.SUBJECT_WORDS[rng.choice(list(says.SUBJECT_WORDS))])
    return f"{phrase} {rng.choice(['near', 'next to', 'and', 'beside', 'with', 'behind'])} a {other}"


def describe_motion(scene, rng, said) -> str:
    """The verb; the place that it names ("falls from the sky") is said too, where phrases are known.

    What a scene shows need not be there: only the text encoder, which never sees it, may learn from that.
    """
    verb = motion_verb(scene, rng, said)
    if rng.phrases:
        places = [setting for setting, words in says.PLACES_IN_VERBS.items() if words.search(verb)]
        said |= {"setting": setting for setting in places[:1]}
    return verb


def motion_verb(scene, rng, said) -> str:
    """With a direction for most crossings; sometimes one that no motion goes with."""
    motion, subject = scene["motion"], scene["subject"]
    if rng.outside and rng.random() < 0.06:
        return inflected(rng.strange("deed"), rng)
    if rng.phrases and rng.random() < 0.5:
        said["motion"] = said_motion(motion, rng)
        return inflected(rng.choice(rng.phrases["motion"][said["motion"]]), rng)
    if rng.more and rng.random() < 0.15 and motion != "still":
        said["motion"] = "moving" if motion in ("lr", "rl") else motion
        return inflected(rng.common(rng.more["motion"][said["motion"]]), rng)
    if motion in ("lr", "rl"):
        verb = inflected(rng.choice(says.MOVING_VERBS[subject]), rng)
        if rng.random() < 0.65:
            said["motion"] = motion
            return verb + " " + rng.choice(says.RIGHTWARD if motion == "lr" else says.LEFTWARD)
        said["motion"] = "moving"
        return verb + " " + rng.choice(says.ONWARD)
    if motion == "still":
        if rng.random() < 0.3:
            return ""
        said["motion"] = "still"
        return inflected(rng.choice([*says.STILL_VERBS[subject] * 2, *says.ANY_STILL_VERBS]), rng)
    said["motion"] = motion
    verbs = {
        "rise": says.RISING_VERBS,
        "fall": says.FALLING_VERBS,
        "bounce": says.BOUNCING_VERBS,
        "spin": says.SPINNING_VERBS,
    }
    return inflected(rng.choice(verbs[motion]), rng)


def said_motion(motion: str, rng) -> str:
    """The motion, or only that there is one."""
    return "moving" if motion in ("lr", "rl") and rng.random() < 0.35 else motion


def inflected(verb: str, rng) -> str:
    """"sail away" -> "sails away", "sailing away", "is sailing away", "that sails away" or as it is."""
    first, _, rest = verb.partition(" ")
    form = rng.choice(["s", "s", "s", "ing", "ing", "ing", "is ing", "that s", ""])
    third, present = third_person(first), ing(first)
    shown = {"s": third, "ing": present, "is ing": f"is {present}", "that s": f"that {third}", "": first}[form]
    if first == "be" and form != "that s":
        shown = rng.choice(["is", "", "that is"])
    return f"{shown} {rest}".strip()


def third_person(verb: str) -> str:
    if verb in IRREGULAR:
        return IRREGULAR[verb][0]
    if verb.endswith(("s", "sh", "ch", "x", "z", "o")):
        return verb + "es"
    return verb[:-1] + "ies" if verb.endswith("y") and verb[-2] not in VOWELS else verb + "s"


def ing(verb: str) -> str:
    if verb in IRREGULAR:
        return IRREGULAR[verb][1]
    if verb in irregular_participles():
        return irregular_participles()[verb]
    return verb[:-1] + "ing" if verb.endswith("e") and not verb.endswith("ee") else verb + "ing"


def describe_strange(rng) -> str:
    """Something that the world does not have: a thing, a person who does something, an idea."""
    thing, idea, person = (rng.strange(kind) for kind in ("thing", "idea", "person"))
    article = rng.choice(ARTICLES)
    deed, other = rng.strange("deed"), rng.strange("thing")
    adjective = rng.choice(rng.choice([says.FILLERS, *says.COLOUR_WORDS.values(), *says.SIZE_WORDS.values(), [""]]))
    return rng.choice(
        [
            f"{article} {adjective} {thing}",
            f"{article} {thing}",
            f"{article} {thing} made of {other}",
            f"{article} {adjective} {thing} and a {other}",
            f"{article} {thing} on a {other}",
            f"{article} {adjective} {person}",
            f"{article} {person} {ing(deed)}",
            f"{article} {person} {ing(deed)} a {thing}",
            f"{article} {person} {third_person(deed)} the {other}",
            f"two {plural_of(person)} {ing(deed)}",
            f"{plural_of(person)} {ing(deed)} a {thing}",
            f"{plural_of(thing)} and {plural_of(other)}",
            f"{article} {thing} {ing(deed)}",
            f"a portrait of {article} {person}",
            f"a {rng.choice(IMAGES)} of {article} {thing}",
            f"the {rng.choice(ASPECTS)} of {idea}",
            f"{idea}",
            f"{adjective} {idea}",
            f"{idea} and {rng.strange('idea')}",
            f"{idea} {rng.strange('idea')}",
            f"{idea} {thing}",
            f"{thing} {other} {rng.choice(['going up', 'on a table', 'in a row', 'on the wall', 'from above'])}",
            f"{article} {rng.choice(says.SUBJECT_WORDS[rng.choice(list(says.SUBJECT_WORDS))])} {other}",
        ]
    )


def describe_surroundings(scene, rng, said, has_subject) -> list[str]:
    """Setting, time of day and weather."""
    parts, before, weather = [], [], scene["weather"]
    if weather in LOUDNESS and rng.random() < LOUDNESS[weather][1]:
        weather = LOUDNESS[weather][0]
    said["weather"] = weather
    tells_time = rng.random() < (0.5 if said["subject"] == "unknown" else 0.8)
    if scene["setting"] == "space":
        said["time"] = scene["time"]
        tells_time = False
    elif tells_time:
        said["time"] = scene["time"]
    tells_weather = weather != "clear" or rng.random() < 0.2
    is_in_verb = "setting" in said
    strange_place = rng.outside and not is_in_verb and scene["weather"] == "clear" and rng.random() < 0.05
    if strange_place:
        opening = rng.choice(["in the", "in a", "inside a", "at the", "on the", "in my", "outside the"])
        name = rng.choice(["setting", "setting", "setting_noun"])
        parts.append(rng.phrase(name, "unknown") or f"{opening} {rng.strange('place')}")
        said["setting"] = "unknown"
    elif rng.random() < (0.45 if said["subject"] == "unknown" or is_in_verb else 0.9) or not has_subject:
        said["setting"] = scene["setting"]
        if tells_time and rng.random() < 0.2:
            before.append(rng.choice(says.TIME_ADJECTIVES[scene["time"]]))
            tells_time = False
        if weather in says.WEATHER_ADJECTIVES and rng.random() < (0.7 if weather == "calm" else 0.3):
            if weather != "snow" or scene["setting"] not in says.SNOWY_SETTINGS:
                before.append(rng.choice(says.WEATHER_ADJECTIVES[weather]))
                tells_weather = False
        parts.append(describe_setting(scene["setting"], " ".join(before), rng, has_subject))
    if tells_time:
        parts.append(rng.word("time", says.TIME_WORDS, scene["time"]))
    if tells_weather:
        parts.append(rng.word("weather", SAID_WEATHER, weather))
        if parts[-1] == "in the snow":
            said.setdefault("setting", "snowfield")
    return parts


def describe_setting(setting, before, rng, has_subject) -> str:
    """Preposition and place."""
    if not before and (phrase := rng.phrase("setting", setting)):
        return phrase
    opening = rng.choice(PREPOSITIONS if has_subject else OPENINGS)
    if setting in ("space", "underwater", "sky") and not before and rng.random() < 0.5:
        opening = "" if setting == "underwater" else "in"
    if rng.phrases and rng.random() < BARE_SHARE:
        noun = rng.phrase("setting_noun", setting) or rng.word("setting", says.SETTING_WORDS, setting)
        return f"{before} {noun}".strip()
    return " ".join(item for item in (opening, before, rng.word("setting", says.SETTING_WORDS, setting)) if item)


def describe_camera(scene, rng, said) -> str:
    """The camera's motion; a static camera is mostly not mentioned."""
    said["camera"] = scene["camera"]
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

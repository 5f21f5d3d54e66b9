"""Writes evaluation/prompts.jsonl: held-out prompts and what they state.

The first set is the grammar's, from a seed that no training uses. The second is in other sentences,
and each of its prompts has words for subject, setting and colour that the grammar never uses.
"""

import json
import pathlib
import re

from . import caption_words as says
from .asked_words import COLOURS, SETTINGS, SUBJECTS
from .captions import Chooser, write_caption
from .lexicon import is_held_out, more_words
from .scenes import sample_scene
from .vocabulary import SLOTS

SENTENCES = [
    "a {colour} {subject} close to the {setting}",
    "picture of the {setting} with one {colour} {subject}",
    "there goes a {colour} {subject} along the {setting}",
    "from the {setting} comes a {colour} {subject}",
    "{colour} {subject} and {setting}",
]
"""No sentence of the grammar."""
STILL = [
    "a red car is parked in the desert at noon, clear sky, static camera",
    "a brown house stands in the meadow in daylight, fixed camera",
    "a white cat sits on the snowy plain at midday, still shot",
    "a green tree stands on the beach at noon, static camera",
    "a blue ball lies still in the mountains at midday, fixed camera",
    "a yellow cottage stands in the forest on a bright day, static camera",
]
"""Only what stands on the ground: the upper quarter of the picture rests."""
SOUNDS = {
    "wind": ["a white house stands in the sand dunes at noon", "an old brown hut in the sahara at midday"],
    "waves": ["a white kite hangs over the open sea at midday", "ocean waves, a yellow kite at noon"],
    "rain": ["a red house stands in a green field at noon, rain falling", "a cottage in the meadow, rainy day"],
    "birds": ["a yellow songbird flies in the forest at midday", "a red bird hovers in the woods in daylight"],
    "engine": ["a red car drives to the right across the desert at noon", "a blue truck in the dunes at midday"],
    "crickets": ["a brown house stands in the meadow at night in the fog", "a hut in a field at midnight, misty"],
    "music": ["a white house floats in outer space", "a red cottage in deep space"],
}


def make_prompts(folder: pathlib.Path, count: int = 96, unseen: int = 55, seed: int = 990_047) -> None:
    """folder: the package's evaluation folder."""
    rng, cases = Chooser(seed), []
    while len(cases) < count:
        scene = sample_scene(rng)
        caption, said = write_caption(scene, rng)
        if scene["subject"] != "none":
            told = {name: value for name, value in sorted(said.items()) if value in dict(SLOTS)[name]}
            cases.append(case("grammar", caption, told, len(cases)))
    for number in range(unseen):
        told = [list(table)[number % len(table)] for table in (SUBJECTS, SETTINGS, COLOURS)]
        told[1] = list(SETTINGS)[(number * 3 + number // 11) % len(SETTINGS)]
        told[2] = list(COLOURS)[(number * 5 + number // 11) % len(COLOURS)]
        words = [
            rng.choice(table[value].split("|")) for table, value in zip((SUBJECTS, SETTINGS, COLOURS), told)
        ]
        names = ("subject", "setting", "colour")
        text = SENTENCES[number % len(SENTENCES)].format(**dict(zip(names, words)))
        entry = case("unseen", text, dict(zip(names, told)), number)
        cases.append({**entry, "unheard": [name for name, word in zip(names, words) if is_unheard(name, word)]})
    cases += [{**case("still", text, {}, number), "still": True} for number, text in enumerate(STILL)]
    for number in range(2):
        for kind, texts in SOUNDS.items():
            entry = case("sound", texts[number], {"sound": kind}, number)
            cases.append({**entry, "still": kind == "wind"})
    text = "".join(json.dumps(item) + "\n" for item in cases)
    (folder / "prompts.jsonl").write_text(text)


def case(kind, prompt, stated, seed):
    return {"set": kind, "prompt": prompt, "seed": 9000 + seed, "stated": stated}


def is_unheard(name: str, word: str) -> bool:
    """Whether no training of any part saw the word, nor one of its two."""
    known = {item for values in more_words().get(name, {}).values() for item in values}
    return word not in known and not any(part in known for part in word.split())


def check_unseen() -> list[str]:
    """Words of the second set that the grammar has after all; none is right."""
    grammar = set()
    for table in (says.SUBJECT_WORDS, says.SETTING_WORDS, says.COLOUR_WORDS):
        for words in table.values():
            grammar.update(words)
    asked = [word for table in (SUBJECTS, SETTINGS, COLOURS) for words in table.values() for word in words.split("|")]
    return [word for word in asked if word in grammar or re.fullmatch("|".join(map(re.escape, grammar)), word)]


if __name__ == "__main__":
    print(check_unseen(), [w for t in (SUBJECTS, SETTINGS, COLOURS) for ws in t.values() for w in ws.split("|") if is_held_out(w)])

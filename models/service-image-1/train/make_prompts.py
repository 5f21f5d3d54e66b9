"""Writes evaluation/prompts.jsonl: held-out prompts and what they state.

The first set is the grammar's, from a seed that no training uses. The second is in other sentences,
and each of its prompts has words for subject, setting and colour that the grammar never uses.
"""

import json
import pathlib

from motion.asked_words import COLOURS, SETTINGS, SUBJECTS
from motion.captions import Chooser, write_caption
from motion.make_prompts import SENTENCES, is_unheard
from motion.scenes import sample_scene

from .probe import ATTRIBUTES
from .shapes import SIZES

UNSEEN_TABLES = {"subject": SUBJECTS, "setting": SETTINGS, "colour": COLOURS}


def make_prompts(folder: pathlib.Path, count: int = 66, unseen: int = 33, seed: int = 880_029) -> None:
    """folder: the package's evaluation folder."""
    rng, cases = Chooser(seed), []
    while len(cases) < count:
        scene = sample_scene(rng) | {"camera": "static"}
        caption, said = write_caption(scene, rng)
        if scene["subject"] != "none":
            told = {name: said[name] for name, values in ATTRIBUTES.items() if said.get(name) in values}
            cases.append(case("grammar", caption, told, len(cases)))
    cases += [unseen_case(number, rng) for number in range(unseen)]
    (folder / "prompts.jsonl").write_text("".join(json.dumps(item) + "\n" for item in cases))


def unseen_case(number: int, rng) -> dict:
    """Every value of every attribute comes up equally often, in ever other company."""
    told, words = {}, {}
    for turn, (name, table) in enumerate(UNSEEN_TABLES.items()):
        values = list(table)
        told[name] = values[(number * (1, 3, 5)[turn] + number // 11) % len(values)]
        words[name] = rng.choice(table[told[name]].split("|"))
    text = SENTENCES[(number + number // 5) % len(SENTENCES)].format(**words)
    unheard = [name for name, word in words.items() if is_unheard(name, word)]
    return case("unseen", text, told, number) | {"unheard": unheard}


def case(kind: str, prompt: str, stated: dict, number: int) -> dict:
    """The sizes take turns."""
    height, width = SIZES[number % len(SIZES)]
    return {"set": kind, "prompt": prompt, "size": f"{width}x{height}", "seed": 7000 + number, "stated": stated}

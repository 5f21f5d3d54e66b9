"""Writes sentences of the 13 categories and look-alikes that are harmless, from the templates in texts/."""

import pathlib
import random
import re

from .wide import SHARE, wide_words

FOLDER = pathlib.Path(__file__).resolve().parent / "texts"
CATEGORIES = (
    "harassment", "harassment/threatening", "hate", "hate/threatening", "illicit", "illicit/violent", "self-harm",
    "self-harm/intent", "self-harm/instructions", "sexual", "sexual/minors", "violence", "violence/graphic",
)
SIDES = ("training", "tuning", "test")
SLOT = re.compile(r"\{([a-z_]+)\}")
OPENINGS = (
    "", "", "", "", "", "hey, ", "hi, ", "please: ", "ok so ", "listen, ", "quick question: ", "user: ", "honest question, ",
    "well, ", "so, ", "today i thought: ", "for my blog: ", "note: ", "can you help? ",
)
CLOSINGS = ("", "", "", "", "", "", " please", " thanks", " lol", " right now", " asap", " ok?", " today", " i mean it", " for real")
HELD_OUT_OPENINGS = ("", "", "", "good evening, ", "message: ", "look, ", "one more thing, ", "question of the day: ")
HELD_OUT_CLOSINGS = ("", "", "", "", " now", " haha", " if you can", " and that is all")

Row = tuple[str, tuple[str, ...]]


class Grammar:
    """The templates and slot words of one side: `training`, `tuning` or `test`."""

    def __init__(self, side: str) -> None:
        self.held_out = side != "training"
        self.slots = read_slots(side)
        self.wide = {} if self.held_out else wide_words(read_slots("tuning"), read_slots("test"))
        ending = f"-{side}" if self.held_out else ""
        self.flagged = read_flagged(FOLDER / f"flagged{ending}.txt")
        self.benign = read_lines(FOLDER / f"benign{ending}.txt")
        self.children = read_lines(FOLDER / f"children{ending}.txt") if self.held_out else []
        self.groups = sorted({labels for labels, _ in self.flagged})
        self.by_group = {group: [text for labels, text in self.flagged if labels == group] for group in self.groups}

    def write(self, template: str, rng: random.Random) -> str:
        """Fills the slots, and those within their words, and puts something before or behind."""
        text = template
        while SLOT.search(text):
            text = SLOT.sub(lambda found: self.word(found.group(1), rng), text)
        before, behind = (
            (HELD_OUT_OPENINGS, HELD_OUT_CLOSINGS) if self.held_out else (OPENINGS, CLOSINGS)
        )
        text = rng.choice(before) + text + rng.choice(behind)
        return re.sub(r"\b([Aa]) (?=[aeiou])", r"\1n ", text)

    def word(self, slot: str, rng: random.Random) -> str:
        """One of the slot's own words, or of those that WordNet adds in training."""
        if slot not in self.slots or (slot in self.wide and rng.random() < SHARE):
            return rng.choice(self.wide[slot])
        return rng.choice(self.slots[slot])

    def flagged_row(self, group: tuple[str, ...], rng: random.Random) -> Row:
        """A sentence of a group of categories."""
        return self.write(rng.choice(self.by_group[group]), rng), group

    def benign_row(self, rng: random.Random) -> Row:
        """A harmless sentence."""
        return self.write(rng.choice(self.benign), rng), ()


def read_lines(path: pathlib.Path) -> list[str]:
    """Lines that are neither empty nor remarks."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return [line.strip() for line in lines if line.strip() and not line.startswith("#")]


def read_slots(side: str) -> dict[str, list[str]]:
    """Slot -> words of a side; some slots are the training's alone."""
    slots = {}
    for line in read_lines(FOLDER / "slots.txt"):
        name, _, words = line.partition(":")
        columns = words.split("|")
        if len(columns) == len(SIDES) or side == "training":
            slots[name] = [word.strip() for word in columns[SIDES.index(side)].split(",")]
    return slots


def read_flagged(path: pathlib.Path) -> list[tuple[tuple[str, ...], str]]:
    """(categories, template); a line in brackets says the categories of those that follow."""
    rows, labels = [], ()
    for line in read_lines(path):
        if line.startswith("["):
            labels = tuple(name.strip() for name in line.strip("[]").split(","))
        else:
            rows.append((labels, line))
    return rows

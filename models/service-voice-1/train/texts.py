"""Sentences and words to learn from: WordNet's, without those that the evaluation holds back."""

import json
import pathlib
import random
import re
from functools import cache

WORDNET = pathlib.Path("/usr/share/wordnet")
PARTS = ("noun", "verb", "adj", "adv")
EVALUATION = pathlib.Path(__file__).resolve().parent.parent / "evaluation" / "sentences.jsonl"


def held_out_words() -> set[str]:
    """Words that no training text may hold, in any ending."""
    rows = [json.loads(line) for line in EVALUATION.read_text().splitlines()]
    return {word for row in rows for word in row["unseen"]}


def is_clean(text: str, held: set[str]) -> bool:
    """Only plain words and marks, none of them held back."""
    if not re.fullmatch(r"[A-Za-z][A-Za-z ,';:?!-]*", text) or re.search(r"[A-Z]{2}| [,;:-]", text):
        return False
    stems = tuple(held)
    return not any(word.startswith(stems) for word in re.findall(r"[a-z]+", text.lower()))


@cache
def glosses() -> list[str]:
    """Definitions and examples of WordNet in a shuffled order that never changes."""
    pieces = set()
    for part in PARTS:
        for line in (WORDNET / f"data.{part}").read_text(encoding="latin-1").splitlines():
            if line.startswith(" ") or "|" not in line:
                continue
            gloss = line.split("|", 1)[1].strip()
            pieces.update(re.findall(r'"([^"]+)"', gloss))
            pieces.update(piece.strip() for piece in re.sub(r'"[^"]*"|\([^)]*\)', "", gloss).split(";"))
    ordered = sorted(pieces)
    random.Random(1).shuffle(ordered)
    return ordered


def sentences(least: int, most: int) -> list[str]:
    """Sentences of so many words, clean."""
    held = held_out_words()
    return [text for text in glosses() if least <= len(text.split()) <= most and is_clean(text, held)]


def words() -> list[str]:
    """Words of WordNet's definitions and indexes, in a shuffled order that never changes, those of
    definitions first."""
    held = held_out_words()
    used, listed = set(), set()
    for text in glosses():
        used.update(re.findall(r"(?<![\w'-])[a-z]{2,16}(?![\w'-])", text))
    for part in PARTS:
        for line in (WORDNET / f"index.{part}").read_text(encoding="latin-1").splitlines():
            listed.add(line.split(" ", 1)[0])
    found = []
    for group in (used, listed - used):
        clean = sorted(word for word in group if re.fullmatch(r"[a-z]{2,16}", word) and is_clean(word, held))
        random.Random(2).shuffle(clean)
        found += clean
    return found

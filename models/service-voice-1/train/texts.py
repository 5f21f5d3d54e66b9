"""Sentences and words to learn from: WordNet's, without those that the evaluation holds back, and questions and
lists that are made of its words."""

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


ASIDES = (
    "is the {n} {a}?", "are the {n} and the {n} {a}?", "was the {n} in the {n}?", "did the {n} {v}?", "can the {n} {v} today?",
    "do you like the {a} {n}?", "will it {v} again?", "have you seen the {n}?", "could you show me the {n}?",
    "would you like a {n} or two?", "does your {n} {v}?", "has the {n} come back?", "should we {v} the {n}?",
    "isn't the {n} too {a}?", "were they {a} about the {n}?", "when the {n} came, did it {v}?", "you have a {n}?",
    "what is a {n}?", "where is the {a} {n}?", "who took the {n}?", "why did the {n} {v}?", "how do you {v} a {n}?",
    "when will the {n} be {a}?", "which {n} do you want?", "how many {n} can you {v}?", "whose {n} is this?",
    "what did they {v} in the {n}?", "in which {n} was it {a}?", "how {a} is the {n}?", "what makes the {n} {v}?",
    "the {n}, the {n}, and the {n}", "a {n}, a {a} {n}, and a {n}", "when the {n} is {a}, we {v}",
    "if you {v}, the {n} will be {a}", "yes, the {n} is {a}", "they {v}, they {v}, and then they rest",
    "the {n} was {a}, but nobody could {v}", "after the {n}, we saw a {a} {n}", "the {n} is {a}", "it was in the {a} {n}",
    "she was {a}, tired, and hungry", "first the {n}, then the {n}", "well, that {n} is {a}, isn't it?",
)  # fmt: skip
"""Questions of both kinds, lists and clauses, and what is told in the same words."""


@cache
def plain_words() -> dict[str, list[str]]:
    """Common words of three to eight letters that are mostly one kind of word: n, v, a."""
    held, counts = held_out_words(), {}
    for part, kind in (("noun", "n"), ("verb", "v"), ("adj", "a")):
        for line in (WORDNET / f"index.{part}").read_text(encoding="latin-1").splitlines():
            word, *fields = line.split()
            if not line.startswith(" ") and re.fullmatch(r"[a-z]{3,8}", word) and is_clean(word, held):
                counts.setdefault(word, {})[kind] = int(fields[-1 - int(fields[1])])
    used = {word: kinds for word, kinds in counts.items() if max(kinds.values()) >= 3}
    return {kind: sorted(word for word, kinds in used.items() if max(kinds, key=kinds.get) == kind) for kind in "nva"}


def aside(source: random.Random) -> str:
    """A question, a list or a sentence beside it."""
    words = plain_words()
    text = re.sub(r"{(.)}", lambda slot: source.choice(words[slot[1]]), source.choice(ASIDES))
    text = re.sub(r"\ba(?= [aeiou])", "an", text)
    return text.capitalize() if source.random() < 0.5 else text


def spoken_lines(least: int, most: int, count: int, share: float, seed: int) -> list[str]:
    """So many sentences, a share of them asides and the questions that WordNet has."""
    plain = [text for text in sentences(least, most) if not re.search(r"[?!].", text)]
    asked = [text for text in plain if text.endswith("?")]
    told = iter([text for text in plain if not text.endswith("?")])
    source = random.Random(seed)
    beside = asked + [aside(source) for _ in range(max(0, round(share * count) - len(asked)))]
    source.shuffle(beside)
    pending = iter(beside)
    return [next(pending, None) or next(told) if source.random() < share else next(told) for _ in range(count)]

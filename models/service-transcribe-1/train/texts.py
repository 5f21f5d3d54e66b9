"""Sentences to speak and to count: WordNet's examples and definitions, fortunes, and a grammar's.

A sentence belongs to the held-out part by its own checksum, so that no step can mix the parts.
"""

import functools
import os
import pathlib
import random
import re
import zlib
from typing import Literal

from .grammar import HELD_OUT_TEMPLATES, TEMPLATES, make_sentence

UNPACKED = pathlib.Path(os.environ.get("UNPACKED_ROOT", "/"))
"""Where those packages lie that are only unpacked, not installed."""
WORDNET = pathlib.Path("/usr/share/wordnet")
KINDS = ("noun", "verb", "adj", "adv")
FORTUNES = pathlib.Path("/usr/share/games/fortunes")
SKIPPED_FORTUNES = {"ascii-art", "translate-me", "pratchett", "debian", "startrek", "tao"}
Part = Literal["training", "tuning", "evaluation"]
HELD_OUT_SHARE = 20
"""One sentence of this many is held out for the evaluation, another for tuning."""
WORD = re.compile(r"[A-Za-z]+(?:'[A-Za-z]+)*")
SPEAKABLE = re.compile(r"[A-Za-z][A-Za-z' ,]*[a-z]")


def part_of(sentence: str) -> Part:
    """Which part a sentence belongs to."""
    number = zlib.crc32(sentence.lower().encode()) % HELD_OUT_SHARE
    return "evaluation" if number == 0 else "tuning" if number == 1 else "training"


def words_of(sentence: str) -> list[str]:
    """Its words as written; nothing else counts."""
    return WORD.findall(sentence)


@functools.cache
def examples() -> list[str]:
    """Sentences that WordNet quotes as examples of use."""
    return [text for gloss in _glosses() for text in re.findall(r'"([^"]+)"', gloss)]


@functools.cache
def definitions() -> list[str]:
    """WordNet's definitions."""
    parts = (part.strip() for gloss in _glosses() for part in re.sub(r'"[^"]*"', "", gloss).split(";"))
    return [re.sub(r"\([^)]*\)", "", part).strip() for part in parts if part]


@functools.cache
def fortunes() -> list[str]:
    """Sentences of Debian's fortunes."""
    found = []
    for path in sorted(FORTUNES.iterdir()):
        if path.suffix or path.is_symlink() or path.name in SKIPPED_FORTUNES:
            continue
        for entry in path.read_text("utf8", "replace").split("\n%\n"):
            body = " ".join(entry.split("\n\t\t--")[0].split())
            found += re.split(r"(?<=[.!?])\s+|\s*[;:()\[\]\"]\s*|--", body)
    return [text.strip(" .!?\"'") for text in found]


@functools.cache
def lemmas() -> set[str]:
    """Single words that WordNet lists, in lower case."""
    lines = [line for kind in KINDS for line in (WORDNET / f"index.{kind}").read_text("latin1").splitlines()]
    found = {line.split(" ", 1)[0] for line in lines if not line.startswith(" ")}
    return {word for word in found if word.isascii() and word.isalpha() and len(word) > 1}


@functools.cache
def used_lemmas() -> set[str]:
    """Those that WordNet's own count of texts has met."""
    lines = (WORDNET / "cntlist.rev").read_text("latin1").splitlines()
    return {line.split("%", 1)[0] for line in lines} & lemmas()


def grammar_sentences(count: int, seed: int, held_out: bool = False) -> list[str]:
    """Everyday sentences; the held-out templates share no frame with the others."""
    source = random.Random(seed)
    templates = HELD_OUT_TEMPLATES if held_out else TEMPLATES
    return [make_sentence(source, templates) for _ in range(count)]


def speakable(sentences: list[str], part: Part, shortest: int = 3, longest: int = 16) -> list[str]:
    """Those of one part that are plain words, once each, in order."""
    kept = {}
    for sentence in sentences:
        text = " ".join(sentence.replace("`", "'").split()).strip(" .!?;:")
        if SPEAKABLE.fullmatch(text) and part_of(text) == part:
            if shortest <= len(words_of(text)) <= longest:
                kept[text] = None
    return list(kept)


def _glosses() -> list[str]:
    lines = []
    for kind in KINDS:
        for line in (WORDNET / f"data.{kind}").read_text("latin1").splitlines():
            if not line.startswith("  ") and " | " in line:
                lines.append(line.split(" | ", 1)[1].strip())
    return lines

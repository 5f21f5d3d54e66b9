"""How people say what a picture shows, written by hand: phrases.txt, "# attribute value" and a phrase a line.

A setting's phrase has its preposition, a motion's is a verb in its base form, a motion_adjective stands before the
noun; the others stand where a word of the grammar does. Only the text encoder's training uses them.
"""

import functools
import pathlib
import re

from .asked_words import ASKED

PATH = pathlib.Path(__file__).with_name("phrases.txt")


@functools.cache
def phrases() -> dict[str, dict[str, list[str]]]:
    """Attribute -> value, or one of vocabulary.EXTRAS -> phrases, without any word that the evaluation asks."""
    asked = {word for table in ASKED for words in table.values() for word in words.split("|")}
    is_asked = re.compile(rf"\b({'|'.join(map(re.escape, asked))})s?\b")
    found, chosen = {}, []
    for line in PATH.read_text().splitlines():
        if line.startswith("# "):
            name, value = line[2:].split()
            chosen = found.setdefault(name, {}).setdefault(value, [])
        elif line and not is_asked.search(line):
            chosen.append(line)
    return found

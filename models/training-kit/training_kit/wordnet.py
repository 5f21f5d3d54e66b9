"""Reads the WordNet database files of Debian's package wordnet-base."""

import dataclasses
import pathlib
import re

FOLDER = pathlib.Path("/usr/share/wordnet")
PARTS = ("noun", "verb", "adj", "adv")
RELATIONS = {
    "@": "hypernym",
    "@i": "hypernym",
    "~": "hyponym",
    "~i": "hyponym",
    "&": "similar",
    "^": "also",
    "*": "entails",
    ">": "causes",
    "$": "verb-group",
    "+": "derived",
    "=": "attribute",
    "#p": "whole",
    "#s": "whole",
    "#m": "whole",
    "%p": "part",
    "%s": "part",
    "%m": "part",
    ";c": "domain",
    "\\": "pertains",
}
QUOTED = re.compile(r'"([^"]*)"')
MARKER = re.compile(r"\((?:a|p|ip)\)$")


@dataclasses.dataclass(frozen=True)
class Synset:
    """One meaning: its words, its definition, sentences that use it, and what it is tied to."""

    key: str
    lexicographer: int
    """Number of the subject file, 0 to 44: acts, animals, artefacts …"""
    lemmas: tuple[str, ...]
    definition: str
    examples: tuple[str, ...]
    relations: tuple[tuple[str, str], ...]
    """(name of the relation, key of the other synset)"""

    def related(self, *names: str) -> list[str]:
        """Keys of the synsets that these relations lead to."""
        return [key for name, key in self.relations if name in names]


def read_synsets(folder: pathlib.Path = FOLDER) -> dict[str, Synset]:
    """All synsets by key, in the order of the files."""
    synsets = {}
    for part in PARTS:
        for line in (folder / f"data.{part}").read_text(encoding="utf-8").splitlines():
            if not line.startswith("  "):
                synset = parse_line(line)
                synsets[synset.key] = synset
    return synsets


def first_senses(folder: pathlib.Path = FOLDER) -> set[tuple[str, str]]:
    """(word, key of the synset) where the synset is what the word means most often in its part of speech."""
    found = set()
    for part in PARTS:
        for line in (folder / f"index.{part}").read_text(encoding="utf-8").splitlines():
            if not line.startswith("  "):
                word, kind, senses, *rest = line.split()
                found.add((word.replace("_", " "), kind + rest[-int(senses)]))
    return found


def parse_line(line: str) -> Synset:
    """One line of a data file; the format is in wndb(5WN)."""
    head, _, gloss = line.partition("|")
    fields = head.split()
    kind = "a" if fields[2] == "s" else fields[2]
    count = int(fields[3], 16)
    lemmas = [MARKER.sub("", word).replace("_", " ") for word in fields[4 : 4 + 2 * count : 2]]
    at = 4 + 2 * count
    pointers = [fields[at + 1 + 4 * index : at + 5 + 4 * index] for index in range(int(fields[at]))]
    relations = [
        (RELATIONS[symbol], ("a" if part == "s" else part) + offset)
        for symbol, offset, part, _ in pointers
        if symbol in RELATIONS
    ]
    definition, examples = split_gloss(gloss)
    return Synset(
        kind + fields[0], int(fields[1]), tuple(lemmas), definition, examples, tuple(dict.fromkeys(relations))
    )


def split_gloss(gloss: str) -> tuple[str, tuple[str, ...]]:
    """The definition, and the example sentences that follow it in quotes."""
    definition = gloss.partition('"')[0].strip().rstrip(";,: ").strip()
    examples = [text.strip() for text in QUOTED.findall(gloss)]
    return definition or gloss.replace('"', "").strip(), tuple(text for text in examples if " " in text)

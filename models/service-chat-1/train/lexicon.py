"""Words of WordNet by how common they are, and forms of words: plurals, past tenses."""

import functools
import zlib

from training_kit.wordnet import FOLDER, Synset, first_senses, read_synsets

VOWELS = "aeiou"
COUNTRY_FILE, PERSON_FILE = 15, 18
LEXICOGRAPHERS = {5: "animal", 13: "food", 20: "plant", 18: "person", 6: "thing that people made"}
KEPT = 6
"""One word or phrasing in so many is kept from training for the evaluation."""


def is_kept(text: str) -> bool:
    """Whether a word or a phrasing is kept for the evaluation."""
    return zlib.crc32(text.encode()) % KEPT == 0


@functools.cache
def synsets() -> dict[str, Synset]:
    return read_synsets()


@functools.cache
def first_meanings() -> dict[tuple[str, str], Synset]:
    """(part of speech n, v or a; word) -> what it means most often."""
    return {(key[0], word): synsets()[key] for word, key in first_senses() if key[0] in "nva"}


@functools.cache
def counts() -> dict[tuple[str, str], int]:
    """(part of speech, word) -> how often WordNet's tagged texts have it."""
    parts = {"1": "n", "2": "v", "3": "a", "5": "a"}
    found: dict[tuple[str, str], int] = {}
    for line in (FOLDER / "cntlist.rev").read_text(encoding="utf-8").splitlines():
        sense, _, count = line.split()
        word, _, rest = sense.partition("%")
        if rest[0] in parts:
            key = parts[rest[0]], word.replace("_", " ")
            found[key] = found.get(key, 0) + int(count)
    return found


@functools.cache
def words(part: str) -> tuple[str, ...]:
    """Single words of a part of speech that are no names, the commonest first, then by alphabet."""
    own = {
        lemma for synset in synsets().values() if synset.key[0] == part for lemma in synset.lemmas if is_plain(lemma)
    }
    return tuple(sorted(own, key=lambda word: (-counts().get((part, word), 0), word)))


def is_plain(word: str) -> bool:
    return word.isascii() and word.isalpha() and word.islower() and 3 <= len(word) <= 13


@functools.cache
def common(part: str, count: int) -> tuple[str, ...]:
    """The commonest words of a part of speech."""
    return words(part)[:count]


@functools.cache
def open_words(part: str, held_out: bool) -> tuple[str, ...]:
    """All words of a part of speech that training may see, or those that it never sees as topics."""
    return tuple(word for word in words(part) if is_kept(word) == held_out)


@functools.cache
def proper_names(file: int) -> dict[str, Synset]:
    """Names of persons or places that WordNet describes, single-spelled as people write them."""
    found: dict[str, Synset] = {}
    for synset in synsets().values():
        if synset.key[0] == "n" and synset.lexicographer == file:
            for lemma in synset.lemmas:
                if lemma[0].isupper() and lemma.replace(" ", "").isalpha() and lemma.isascii():
                    found.setdefault(lemma, synset)
    return found


@functools.cache
def irregular(kind: str) -> dict[str, str]:
    """kind noun: singular -> plural; verb: verb -> past tense, from WordNet's lists of exceptions."""
    found: dict[str, str] = {}
    for line in (FOLDER / f"{kind}.exc").read_text(encoding="utf-8").splitlines():
        form, base, *_ = line.split()
        if not form.endswith("ing"):
            found.setdefault(base, form)
    return found


def plural(noun: str) -> str:
    """By the rules of spelling; ask only for nouns without an exception."""
    if noun.endswith(("s", "x", "z", "ch", "sh")):
        return f"{noun}es"
    if noun.endswith("y") and noun[-2] not in VOWELS:
        return f"{noun[:-1]}ies"
    return f"{noun}s"


def past(verb: str) -> str:
    """By the rules of spelling, of verbs that do not double their last letter."""
    if verb.endswith("e"):
        return f"{verb}d"
    if verb.endswith("y") and verb[-2] not in VOWELS:
        return f"{verb[:-1]}ied"
    return f"{verb}ed"

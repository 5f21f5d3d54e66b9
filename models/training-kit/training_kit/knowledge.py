"""What the recipes learn words and pairs of texts from, beside WordNet's relations."""

import itertools
import pathlib
import random
from collections.abc import Iterator

from . import debian
from .bm25 import Bm25
from .questions import read_answers, read_matters
from .thesaurus import read_thesaurus
from .wordnet import Synset
from .words import STOP_WORDS, words_of

Pair = tuple[str, str, str, int]
"""Kind, text, text, subject; texts of one subject are hard to tell from each other. -1 is no subject."""

FIRST_SUBJECT = 1000
"""Numbers below are WordNet's own."""
MOST_SPACES = 30
NEAR_WORDS = 5
"""Words near one that are paired with it."""
MATTER_PAIRS, MATTER_WORDS = 8, 4
"""Pairs of a line of words of one matter, and words of one of their sides."""
FORMS_OF_QUESTIONS = ("{}", "{}?", "what is {}", "how to: {}", "help with {}", "question about {}")


class Knowledge:
    """Texts of Debian's packages, a thesaurus, and the questions written by hand."""

    def __init__(self, folder: pathlib.Path, hidden: list[Synset]) -> None:
        """`hidden` synsets' definitions and sentences are left out wherever they stand."""
        root = debian.fetch_packages(folder)
        banned = {plain(text) for synset in hidden for text in (synset.definition, *synset.examples)}
        self.translations = list(debian.translations(root))
        self.definitions = [row for row in debian.definitions(root) if plain(row[1]) not in banned]
        self.descriptions = list(debian.descriptions(root))
        self.sections = list(debian.sections(root))
        self.sayings = list(debian.sayings(root))
        self.thesaurus = read_thesaurus(folder)
        self.answers = read_answers()
        self.matters = read_matters()

    def texts(self) -> Iterator[str]:
        """Running text, for the neighbourhoods of words."""
        yield from (phrase for _, phrases in self.translations for phrase in phrases if phrase.count(" ") > 1)
        yield from (f"{word}: {text} {', '.join(names)}" for word, text, names in self.definitions)
        yield from (f"{synopsis}: {text}" for synopsis, text in self.descriptions)
        yield from (f"{heading} {text}" for _, heading, texts in self.sections for text in texts)
        yield from self.sayings
        yield from (", ".join(words) for words in self.matters)
        for answer in self.answers:
            yield from (f"{question} {answer.passage}" for question in answer.questions)

    def groups(self) -> Iterator[str]:
        """Words and phrases that mean alike, a line each."""
        yield from (", ".join(phrases) for phrases in self.meanings() if len(phrases) > 1)
        yield from (f"{word}, {', '.join(names)} {text}" for word, text, names in self.definitions)
        yield from (", ".join(words) for words in (*self.thesaurus, *self.matters))

    def meanings(self) -> Iterator[list[str]]:
        """English words and phrases for the same foreign word."""
        for _, rows in itertools.groupby(sorted(self.translations), key=lambda row: row[0]):
            yield list(dict.fromkeys(phrase.lower() for _, phrases in rows for phrase in phrases))[:12]

    def pairs(self, rng: random.Random) -> Iterator[Pair]:
        """Texts that belong together."""
        for phrases in self.meanings():
            for left, right in itertools.pairwise(rng.sample(phrases, min(4, len(phrases)))):
                yield "synonyms", left, right, -1
        for (_, words), (_, sentence) in itertools.pairwise(self.translations):
            if words and sentence and sentence[0].count(" ") > 3 and words[0].count(" ") < 3:
                yield "phrase", sentence[0], words[0], -1
        yield from self.dictionary_pairs(rng)
        for matter, *words in self.matters:
            for _ in range(MATTER_PAIRS):
                drawn = rng.sample(words, min(2 * MATTER_WORDS, len(words)))
                left, right = drawn[:MATTER_WORDS], drawn[MATTER_WORDS:]
                yield "matter", " ".join(left), rng.choice((matter, " ".join(right), " ".join((matter, *right)))), -1
        yield from self.manual_pairs(rng)
        for subject, answers in enumerate(fields(self.answers), FIRST_SUBJECT):
            for answer in answers:
                yield from (("answer", question, answer.passage, subject) for question in answer.questions)

    def dictionary_pairs(self, rng: random.Random) -> Iterator[Pair]:
        """Headwords, definitions and synonyms."""
        for word, text, names in self.definitions:
            if text:
                yield "meaning", word, text, -1
            for name in rng.sample(names, min(3, len(names))):
                yield "synonyms", word, name, -1
        for word, *names in self.thesaurus:
            for name in rng.sample(names, min(NEAR_WORDS, len(names))):
                yield "synonyms", word, name, -1

    def manual_pairs(self, rng: random.Random) -> Iterator[Pair]:
        """Headings or questions and what stands below them; what a package is, and more about it."""
        numbers: dict[str, int] = {}
        for path, heading, texts in self.sections:
            subject = 10 * FIRST_SUBJECT + numbers.setdefault(path, len(numbers))
            for text in texts[:2]:
                yield "heading", rng.choice(FORMS_OF_QUESTIONS).format(heading.rstrip("?:.")), text, subject
        for synopsis, text in self.descriptions:
            yield "description-of", synopsis, text, -1

    def traps(self, count: int) -> Iterator[tuple[str, list[str]]]:
        """Each everyday question with passages of its field that answer nothing, and sentences that share its words."""
        sentences = [phrases[0] for _, phrases in self.translations if phrases and phrases[0].count(" ") > 4]
        sentences += [saying for saying in self.sayings if saying.count(" ") < MOST_SPACES]
        ranker = Bm25(sentences)
        for answers in fields(self.answers):
            unasked = [answer.passage for answer in answers if not answer.questions]
            for question in (question for answer in answers for question in answer.questions):
                words = " ".join(word for word in words_of(question) if word not in STOP_WORDS)
                yield question, unasked + [sentences[at] for at in ranker.best(words, count)]


def fields(answers: list) -> list[list]:
    """The answers of each field."""
    by_field: dict[str, list] = {}
    for answer in answers:
        by_field.setdefault(answer.field, []).append(answer)
    return list(by_field.values())


def plain(text: str) -> str:
    """For telling whether two texts are the same."""
    return "".join(filter(str.isalnum, text.lower()))

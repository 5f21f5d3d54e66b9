"""Tests over families that training never saw: what is related comes first, and what answers is found."""

import random

from .passages import (
    HELD_OUT_DESCRIPTION_QUERIES,
    HELD_OUT_NAME_QUERIES,
    description_query,
    name_query,
    synonyms_of,
)
from .wordnet import Synset, first_senses
from .words import STOP_WORDS, overlap, words_of

KNOWN_TEXTS = 3
"""A word counts as known when so many texts of the training have it."""

TEXT_KINDS = ("definition-of-kind", "sentence-definition", "word-definition", "paraphrase-definition")
WORD_KIND = "word-of-kind"
Triple = dict[str, str]
Search = dict[str, object]


class HeldOut:
    """One fold of families, with what is known of the words."""

    def __init__(self, synsets: dict[str, Synset], folds: tuple, fold: int, seed: int) -> None:
        self.synsets, self.families, self.rng = synsets, folds[fold], random.Random(seed)
        hidden = {key for families in folds for family in families for key in family}
        self.synonyms = synonyms_of(synsets, hidden)
        counts: dict[str, int] = {}
        for key, synset in synsets.items():
            texts = () if key in hidden else (synset.definition, *synset.examples, *synset.lemmas)
            for word in {word for text in texts for word in words_of(text)}:
                counts[word] = counts.get(word, 0) + 1
        self.first = first_senses()
        self.known = {word for word, count in counts.items() if count >= KNOWN_TEXTS}
        self.family_of = {key: at for at, family in enumerate(self.families) for key in family}
        self.keys = sorted(self.family_of)

    def is_known(self, text: str) -> bool:
        """Whether all content words of a text are in the training's texts."""
        return all(word in self.known or word in STOP_WORDS for word in words_of(text))

    def triples(self, count: int, kinds: tuple[str, ...] = TEXT_KINDS) -> list[Triple]:
        """Anchor, related and unrelated text, `count` of each kind.

        Anchor and related share no content word, or at most a third of them where one paraphrases the other.
        """
        chosen, found = [], self.pairs()
        for kind in kinds:
            pairs = found[kind]
            self.rng.shuffle(pairs)
            for key, anchor, related in pairs[:count]:
                unrelated = self.strange_text(key, kind)
                chosen.append({"kind": kind, "anchor": anchor, "related": related, "unrelated": unrelated})
        self.rng.shuffle(chosen)
        return chosen

    def pairs(self) -> dict[str, list[tuple[str, str, str]]]:
        """Kind -> (key, text, related text)."""
        found: dict[str, list] = {kind: [] for kind in (*TEXT_KINDS, WORD_KIND)}
        for family in self.families:
            head = self.synsets[family[0]]
            for key in family:
                synset = self.synsets[key]
                found["sentence-definition"] += [(key, text, synset.definition) for text in synset.examples]
                words = self.plain_words(key)
                told = description_query(synset, self.synonyms, self.rng, HELD_OUT_DESCRIPTION_QUERIES)
                found["paraphrase-definition"].append((key, told, synset.definition))
                found["word-definition"] += [(key, word, synset.definition) for word in words]
                if key != head.key:
                    found["definition-of-kind"].append((key, synset.definition, head.definition))
                    found["word-of-kind"] += [(key, w, kind) for w in words for kind in self.plain_words(head.key)]
        most = {kind: 1 / 3 if kind == "paraphrase-definition" else 0 for kind in found}
        return {kind: [row for row in rows if overlap(*row[1:]) <= most[kind]] for kind, rows in found.items()}

    def plain_words(self, key: str) -> list[str]:
        """Known words that mean this synset first."""
        words = [word.lower() for word in self.synsets[key].lemmas]
        return [word for word in words if (word, key) in self.first and self.is_known(word)]

    def strange_text(self, key: str, kind: str) -> str:
        """A definition of another family, or a word of one."""
        while kind == WORD_KIND:
            words = self.plain_words(self.stranger(key))
            if words:
                return self.rng.choice(words)
        return self.synsets[self.stranger(key)].definition

    def stranger(self, key: str) -> str:
        """A synset of another family and the same part of speech."""
        while True:
            other = self.rng.choice(self.keys)
            if other[0] == key[0] and self.family_of[other] != self.family_of[key]:
                return other

    def searches(self, count: int, passages: int) -> tuple[list[str], list[Search]]:
        """Passages, one a synset, and queries with the number of the passage that answers each."""
        keys = self.rng.sample(self.keys, passages)
        texts, searches = [], []
        for key in keys:
            synset = self.synsets[key]
            examples = list(synset.examples)
            self.rng.shuffle(examples)
            kind, query = self.query(synset, examples)
            rest = examples[1:] if kind == "use" else examples
            with_example = bool(rest) and self.rng.random() < 0.5
            texts.append(f"{synset.definition}. {rest[0]}" if with_example else synset.definition)
            searches.append({"kind": kind, "query": query, "answer": len(texts) - 1})
        usable = [search for search in searches if search["query"]]
        return texts, self.balanced(usable, count)

    def query(self, synset: Synset, examples: list[str]) -> tuple[str, str]:
        """A query of a kind that this synset allows."""
        kind = self.rng.choice(("name", "description", "use") if examples else ("name", "description"))
        if kind == "use":
            return kind, examples[0]
        if kind == "name":
            words = self.plain_words(synset.key)
            return kind, name_query(words, self.rng, HELD_OUT_NAME_QUERIES) if words else ""
        return kind, description_query(synset, self.synonyms, self.rng, HELD_OUT_DESCRIPTION_QUERIES)

    def balanced(self, searches: list[Search], count: int) -> list[Search]:
        """As many of each kind, in a random order."""
        kinds = sorted({str(search["kind"]) for search in searches})
        chosen = [s for kind in kinds for s in [x for x in searches if x["kind"] == kind][: count // len(kinds)]]
        self.rng.shuffle(chosen)
        return chosen

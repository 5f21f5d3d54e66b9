"""What training reads: every text as tokens, and pairs of texts that belong together."""

import itertools
import pathlib
import random
from collections import Counter

import numpy as np
import torch
from training_kit.families import held_out, split_families
from training_kit.knowledge import Knowledge
from training_kit.passages import description_query, name_query, passage_of, synonyms_of
from training_kit.subwords import TextBank, add_words, load_tokenizer, train_tokenizer
from training_kit.training import save_atomically
from training_kit.wordnet import Synset, first_senses, read_synsets
from training_kit.words import words_of

VOCABULARY, PIECES = 34_000, 8000
EVERYDAY_WEIGHT = 50
"""A word of the everyday questions counts as one that was found so often."""
MOST_TOKENS = 56
TIES = ("similar", "also", "entails", "causes", "verb-group", "derived", "attribute", "whole", "pertains")
RARE_SENSES = 0.5
KINDS = {
    "kind": 0.11, "name": 0.12, "example": 0.1, "words": 0.06, "tie": 0.06, "description": 0.1,
    "synonyms": 0.1, "phrase": 0.05, "meaning": 0.09, "heading": 0.05, "description-of": 0.04, "answer": 0.16,
    "matter": 0.06,
}  # fmt: skip
"""Share of each kind of pair in a batch."""
ALWAYS_NEAR = ("answer", "heading")
NEAR_SUBJECTS = 4
TRAPS = 4
"""Texts a question that share its words."""


def make_tokenizer(folder: pathlib.Path, everyday: list[str], knowledge: Knowledge) -> None:
    """tokenizer.json: pieces, and the words that are whole because what training may see uses them most."""
    synsets = read_synsets()
    hidden = held_out(split_families(synsets))
    seen = [synset for key, synset in synsets.items() if key not in hidden]
    texts = [text for synset in seen for text in (synset.definition, *synset.examples, *synset.lemmas)]
    train_tokenizer([*texts, *everyday], PIECES, folder / "tokenizer.json")
    asked = (text for answer in knowledge.answers for text in (*answer.questions, answer.passage))
    phrases = (phrase for _, phrases in knowledge.translations for phrase in phrases)
    manuals = (text for _, _, texts in knowledge.sections for text in texts)
    words = Counter(word for text in itertools.chain(texts, phrases, manuals) for word in words_of(text))
    words.update({word: EVERYDAY_WEIGHT for text in (*everyday, *asked) for word in words_of(text)})
    add_words(folder / "tokenizer.json", (word for word, _ in words.most_common() if word.isalpha()), VOCABULARY)


def make_pairs(folder: pathlib.Path, rounds: int, knowledge: Knowledge, seed: int = 7) -> None:
    """Writes pairs.pt: the texts' tokens, for each kind of pair an array [pairs, 3] of (text, text, subject), and
    lists of a question and what shares its words."""
    synsets = read_synsets()
    hidden = held_out(split_families(synsets))
    rng, bank = random.Random(seed), TextBank()
    synonyms, first = synonyms_of(synsets, hidden), first_senses()
    pairs: dict[str, list[tuple[int, int, int]]] = {kind: [] for kind in KINDS}
    for key, synset in synsets.items():
        if key in hidden:
            continue
        for kind, left, right in related_texts(synset, synsets, hidden, first, rng):
            pairs[kind].append((bank.add(left), bank.add(right), synset.lexicographer))
        for _ in range(rounds):
            query = description_query(synset, synonyms, rng)
            pairs["description"].append((bank.add(query), bank.add(passage_of(synset, rng)), synset.lexicographer))
    for kind, left, right, subject in knowledge.pairs(rng):
        pairs[kind].append((bank.add(left), bank.add(right), subject))
    traps = [[bank.add(text) for text in (question, *found)] for question, found in knowledge.traps(TRAPS)]
    bank.tokenise(load_tokenizer(folder / "tokenizer.json"), MOST_TOKENS)
    arrays = {kind: torch.tensor([row for row in rows if row[0] != row[1]]) for kind, rows in pairs.items()}
    texts = {"flat": torch.from_numpy(bank.flat), "starts": torch.from_numpy(bank.starts)}
    save_atomically({**texts, "pairs": arrays, "traps": traps}, folder / "pairs.pt")
    print({kind: len(rows) for kind, rows in arrays.items()}, len(bank.texts), "texts", flush=True)


def related_texts(synset: Synset, synsets: dict[str, Synset], hidden: set[str], first: set, rng: random.Random):
    """Pairs (kind, text, text) of one synset; words that mean something else first are taken seldom."""
    definition = synset.definition
    parents = [synsets[key] for key in synset.related("hypernym") if key not in hidden]
    ties = [synsets[key] for key in synset.related(*TIES) if key not in hidden]
    words = [word for word in synset.lemmas if (word.lower(), synset.key) in first or rng.random() < RARE_SENSES]
    for word in words[:4]:
        yield "name", rng.choice((word.lower(), name_query(words, rng))), passage_of(synset, rng)
    for example in synset.examples[:4]:
        yield "example", example, rng.choice((definition, ", ".join(synset.lemmas[:3])))
        if parents and rng.random() < 0.3:
            yield "example", example, rng.choice(parents).definition
    for parent in parents[:2]:
        yield "kind", definition, parent.definition
        if words:
            yield "words", rng.choice(words).lower(), rng.choice((parent.lemmas[0].lower(), parent.definition))
        sibling = synsets[rng.choice(parent.related("hyponym") or [synset.key])]
        if sibling.key not in hidden:
            yield "kind", definition, sibling.definition
    for word in words[1:4]:
        yield "words", word.lower(), words[0].lower()
    for tied in rng.sample(ties, min(3, len(ties))):
        yield "tie", definition, tied.definition
        if words:
            yield "tie", rng.choice(words).lower(), rng.choice((*tied.lemmas, tied.definition))


class Pairs:
    """The pairs of a build folder, drawn in batches that a seed and a step determine."""

    def __init__(self, folder: pathlib.Path) -> None:
        content = torch.load(folder / "pairs.pt")
        self.bank = TextBank()
        self.bank.flat, self.bank.starts = content["flat"].numpy(), content["starts"].numpy()
        self.traps = {question: np.array(found) for question, *found in content["traps"] if found}
        self.kinds = {kind: rows[rows[:, 2].argsort(stable=True)].numpy() for kind, rows in content["pairs"].items()}
        self.bounds = {kind: np.unique(rows[:, 2], return_index=True)[1] for kind, rows in self.kinds.items()}

    def draw(self, size: int, seed: int, step: int) -> np.ndarray:
        """[about size, 3]: two texts and a subject; every third batch is of few subjects: its negatives are near."""
        rng = np.random.default_rng((seed, step))
        chosen = []
        for kind, share in KINDS.items():
            count, near = int(share * size), kind in ALWAYS_NEAR or step % 3 == 2
            chosen.append(self.near_rows(kind, count, rng) if near else self.rows(kind, count, rng))
        return np.concatenate(chosen)

    def draw_traps(self, texts: np.ndarray, seed: int, step: int) -> np.ndarray:
        """One text for each of the drawn questions that shares its words and does not answer it."""
        rng = np.random.default_rng((seed, step, 1))
        return np.array([rng.choice(self.traps[left]) for left in texts[:, 0].tolist() if left in self.traps])

    def rows(self, kind: str, count: int, rng: np.random.Generator) -> np.ndarray:
        """Any rows."""
        rows = self.kinds[kind]
        return rows[rng.integers(0, len(rows), count)]

    def near_rows(self, kind: str, count: int, rng: np.random.Generator) -> np.ndarray:
        """Rows of few subjects."""
        rows, bounds = self.kinds[kind], self.bounds[kind]
        chosen, room = [], count
        while room > 0:
            first = rows[rng.integers(0, len(rows)), 2]
            at = np.searchsorted(rows[bounds, 2], first)
            end = bounds[at + 1] if at + 1 < len(bounds) else len(rows)
            most = min(room, end - bounds[at], max(8, count // NEAR_SUBJECTS))
            chosen.append(rows[bounds[at] + rng.permutation(end - bounds[at])[:most]])
            room -= most
        return np.concatenate(chosen)

"""What training reads of WordNet: every text as tokens, and pairs of texts that belong together."""

import pathlib
import random

import numpy as np
import torch
from training_kit.families import held_out, split_families
from training_kit.passages import description_query, name_query, passage_of, synonyms_of
from training_kit.subwords import TextBank, load_tokenizer, train_tokenizer
from training_kit.training import save_atomically
from training_kit.wordnet import Synset, first_senses, read_synsets

VOCABULARY = 18_000
MOST_TOKENS = 48
TIES = ("similar", "also", "entails", "causes", "verb-group", "derived", "attribute", "whole", "pertains")
RARE_SENSES = 0.5
KINDS = {"kind": 0.2, "name": 0.24, "example": 0.12, "words": 0.1, "tie": 0.12, "description": 0.22}
"""Share of each kind of pair in a batch."""


def make_tokenizer(folder: pathlib.Path, everyday: list[str]) -> None:
    """tokenizer.json of what training may see, and of the everyday sentences of the other recipes."""
    synsets = read_synsets()
    hidden = held_out(split_families(synsets))
    seen = [synset for key, synset in synsets.items() if key not in hidden]
    texts = [text for synset in seen for text in (synset.definition, *synset.examples, *synset.lemmas)]
    train_tokenizer([*texts, *everyday], VOCABULARY, folder / "tokenizer.json")


def make_pairs(folder: pathlib.Path, rounds: int, seed: int = 7) -> None:
    """Writes pairs.pt: the texts' tokens, and for each kind of pair an array [pairs, 3] of (text, text, subject)."""
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
    bank.tokenise(load_tokenizer(folder / "tokenizer.json"), MOST_TOKENS)
    arrays = {kind: torch.tensor([row for row in rows if row[0] != row[1]]) for kind, rows in pairs.items()}
    content = {"flat": torch.from_numpy(bank.flat), "starts": torch.from_numpy(bank.starts), "pairs": arrays}
    save_atomically(content, folder / "pairs.pt")
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
        self.kinds = {kind: rows.numpy() for kind, rows in content["pairs"].items()}
        self.by_subject = {
            kind: [rows[rows[:, 2] == subject] for subject in range(45)] for kind, rows in self.kinds.items()
        }

    def draw(self, size: int, seed: int, step: int) -> np.ndarray:
        """[about size, 3]: two texts and a subject; every third batch is of few subjects: its negatives are near."""
        rng = np.random.default_rng((seed, step))
        chosen = []
        for kind, share in KINDS.items():
            rows, count = self.kinds[kind], int(share * size)
            if step % 3 == 2:
                lists = [rows for rows in self.by_subject[kind] if len(rows) > 100]
                sizes = np.array([len(rows) for rows in lists], float) ** 0.7
                picked = np.random.default_rng((seed, step)).choice(len(lists), 3, p=sizes / sizes.sum())
                rows = np.concatenate([lists[at] for at in picked])
            chosen.append(rows[rng.integers(0, len(rows), count)])
        return np.concatenate(chosen)

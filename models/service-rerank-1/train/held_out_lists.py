"""Lists to be ranked: a query of a held-out family, its passage, and those that BM25 finds beside it."""

import random

from training_kit.bm25 import Bm25
from training_kit.families import split_families
from training_kit.held_out_sets import HeldOut
from training_kit.wordnet import read_synsets

BY_WORDS, CANDIDATES = 14, 20
PASSAGES = 1500


def held_out_lists(fold: int, seed: int, count: int) -> list[dict]:
    """`count` rows of kind, query, documents in a random order, and the number of the right one."""
    synsets, rng = read_synsets(), random.Random(seed)
    held = HeldOut(synsets, split_families(synsets), fold, seed)
    passages, searches = held.searches(count, PASSAGES)
    ranker = Bm25(passages)
    lists = []
    for search in searches:
        answer = search["answer"]
        chosen = [answer, *(int(other) for other in ranker.best(search["query"], BY_WORDS + 1) if other != answer)]
        chosen = chosen[: BY_WORDS + 1]
        while len(chosen) < CANDIDATES:
            other = rng.randrange(len(passages))
            if other not in chosen:
                chosen.append(other)
        rng.shuffle(chosen)
        documents = [passages[number] for number in chosen]
        lists.append(
            {"kind": search["kind"], "query": search["query"], "documents": documents, "answer": chosen.index(answer)}
        )
    return lists


def held_out_pairs(fold: int, seed: int, count: int) -> list[dict]:
    """Triples of query, related and unrelated text, in the manner of the embedder's test."""
    synsets = read_synsets()
    held = HeldOut(synsets, split_families(synsets), fold, seed)
    return [row for row in held.triples(count) if row["kind"] != "definition-of-kind"]

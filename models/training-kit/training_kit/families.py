"""Divides the synsets: families that are kept for the tests, others for tuning, and the rest."""

import random

from .wordnet import Synset

SEED = 20
SMALLEST, LARGEST = 3, 12
"""Members of a family: a synset with its hyponyms, or an adjective with those that are similar."""


def split_families(
    synsets: dict[str, Synset], share: float = 0.03
) -> tuple[list[list[str]], list[list[str]]]:
    """Families of the tests and of the tuning; no synset is in two. The first of a family is its head."""
    heads = sorted(key for key in synsets if SMALLEST <= len(members(synsets[key])) <= LARGEST)
    random.Random(SEED).shuffle(heads)
    taken: set[str] = set()
    folds: tuple[list[list[str]], list[list[str]]] = ([], [])
    for fold in folds:
        room = share * len(synsets)
        while room > 0:
            head = heads.pop()
            family = [head, *members(synsets[head])]
            if taken.isdisjoint(family):
                taken.update(family)
                fold.append(family)
                room -= len(family)
    return folds


def members(synset: Synset) -> list[str]:
    """What a synset is the head of."""
    return synset.related("hyponym") or synset.related("similar")


def held_out(folds: tuple[list[list[str]], list[list[str]]]) -> set[str]:
    """Keys of all synsets that training must not see."""
    return {key for fold in folds for family in fold for key in family}

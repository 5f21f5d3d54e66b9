"""Test sentences: templates, slot words and openings that training never had."""

import random

from .noise import disturb
from .sentences import Grammar

NOISY = 0.25
ADULT = ("sexual",)


def flagged_rows(side: str, seed: int, each: int) -> list[dict]:
    """`each` sentences of every group of categories."""
    rng, grammar = random.Random(seed), Grammar(side)
    rows = {}
    for group in grammar.groups:
        texts: set[str] = set()
        while len(texts) < each:
            text = disturb(grammar.flagged_row(group, rng)[0], rng, NOISY)
            texts.add(text)
            rows[text] = {"text": text, "categories": list(group)}
    return list(rows.values())


def benign_rows(side: str, seed: int, count: int) -> list[dict]:
    """`count` look-alikes, as many of each template as of another."""
    grammar = Grammar(side)
    return rows_of(grammar, grammar.benign, (), seed, count)


def children_rows(side: str, seed: int, count: int) -> list[dict]:
    """`count` harmless sentences that mention children."""
    grammar = Grammar(side)
    return rows_of(grammar, grammar.children, (), seed, count)


def adult_rows(side: str, seed: int, count: int) -> list[dict]:
    """`count` sexual sentences about adults."""
    grammar = Grammar(side)
    return rows_of(grammar, grammar.by_group[ADULT], ADULT, seed, count)


def rows_of(grammar: Grammar, texts: list[str], labels: tuple[str, ...], seed: int, count: int) -> list[dict]:
    """Rows of all templates in turn."""
    rng = random.Random(seed)
    templates, rows = list(texts), {}
    while len(rows) < count:
        rng.shuffle(templates)
        for template in templates[: count - len(rows)]:
            text = disturb(grammar.write(template, rng), rng, NOISY)
            rows[text] = {"text": text, "categories": list(labels)}
    return list(rows.values())

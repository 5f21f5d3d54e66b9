"""Test sentences: templates, slot words and openings that training never had."""

import random

from .noise import disturb
from .sentences import Grammar

NOISY = 0.25


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
    rng, grammar = random.Random(seed), Grammar(side)
    templates, rows = list(grammar.benign), {}
    while len(rows) < count:
        rng.shuffle(templates)
        for template in templates[: count - len(rows)]:
            text = disturb(grammar.write(template, rng), rng, NOISY)
            rows[text] = {"text": text, "categories": []}
    return list(rows.values())

"""Which word follows which: a Kneser-Ney model of three words, pruned, as bytes.

Layout, little-endian: "FMLM", then uint32 words, pairs, triples; for each word uint8 cost, uint8
back-off, uint32 pairs that begin with it; for each pair uint16 second word, uint8 cost, uint8
back-off, uint16 triples that begin with it; for each triple uint16 third word, uint8 cost. Each of these
columns lies whole, one after the other. Pairs and triples are sorted. Costs are -16 ln p; back-offs are
128 - 16 ln b. Words 0 and 1 are the sentence's beginning and end; the vocabulary follows.
"""

import collections
import math
import pathlib

import numpy as np

BEGIN, END, FIRST_WORD = 0, 1, 2
STEP = 16
DISCOUNT = 0.75
PAIR_COUNT, TRIPLE_COUNT = 1, 2
"""Rarer ones are pruned."""


class Counts:
    """n-grams of the sentences as numbers; sentences are cut at words outside the vocabulary."""

    def __init__(self, sentences, vocabulary):
        number = {word.lower(): at + FIRST_WORD for at, word in enumerate(vocabulary)}
        self.pairs, self.triples = collections.Counter(), collections.Counter()
        self.words = len(vocabulary) + FIRST_WORD
        for words in sentences:
            line = [BEGIN, *(number.get(word.lower(), -1) for word in words), END]
            for at in range(1, len(line)):
                if line[at] < 0 or line[at - 1] < 0:
                    continue
                self.pairs[line[at - 1], line[at]] += 1
                if at > 1 and line[at - 2] >= 0:
                    self.triples[line[at - 2], line[at - 1], line[at]] += 1


def fit(sentences, vocabulary):
    """Probabilities of words, kept pairs and kept triples (interpolated Kneser-Ney)."""
    counts = Counts(sentences, vocabulary)
    before = collections.Counter(second for _, second in counts.pairs)
    singles = np.full(counts.words, 0.5)
    for word, kinds in before.items():
        singles[word] += kinds
    singles[BEGIN] = 1e-3
    singles /= singles.sum()
    pairs = _smooth(counts.pairs, lambda gram: singles[gram[1]], _continued(counts))
    triples = _smooth(counts.triples, lambda gram: pairs.get(gram[1:], singles[gram[2]]), None)
    triples = {gram: p for gram, p in triples.items() if counts.triples[gram] >= TRIPLE_COUNT}
    needed = {gram[:2] for gram in triples} | {gram[1:] for gram in triples}
    pairs = {gram: p for gram, p in pairs.items() if counts.pairs[gram] >= PAIR_COUNT or gram in needed}
    return singles, pairs, triples


def _continued(counts: Counts) -> collections.Counter:
    """How many words precede a pair; the true count after the beginning, which nothing precedes."""
    kinds = collections.Counter((second, third) for _, second, third in counts.triples)
    for gram, count in counts.pairs.items():
        if gram[0] == BEGIN or gram not in kinds:
            kinds[gram] = count
    return kinds


def _smooth(counts, lower, used) -> dict[tuple, float]:
    used = counts if used is None else used
    totals, kinds = collections.Counter(), collections.Counter()
    for gram, count in used.items():
        totals[gram[:-1]] += count
        kinds[gram[:-1]] += 1
    result = {}
    for gram, count in used.items():
        context = gram[:-1]
        share = DISCOUNT * kinds[context] / totals[context]
        result[gram] = max(count - DISCOUNT, 0) / totals[context] + share * lower(gram)
    return result


def back_offs(grams: dict[tuple, float], lower) -> dict[tuple, float]:
    """What is left of each context's probability, over what its words have without it."""
    kept, covered = collections.Counter(), collections.Counter()
    for gram, p in grams.items():
        kept[gram[:-1]] += p
        covered[gram[:-1]] += lower(gram[1:])
    return {context: max(1 - kept[context], 1e-4) / max(1 - covered[context], 1e-4) for context in kept}


def write(path: pathlib.Path, singles, pairs, triples) -> None:
    """Writes the layout above."""
    pair_off = back_offs(pairs, lambda gram: singles[gram[0]])
    triple_off = back_offs(triples, lambda gram: pairs.get(gram, pair_off.get(gram[:1], 1) * singles[gram[1]]))
    listed, threes = sorted(pairs), sorted(triples)
    after_word = collections.Counter(gram[0] for gram in listed)
    after_pair = collections.Counter(gram[:2] for gram in threes)
    count = len(singles)
    columns = (
        np.array([count, len(listed), len(threes)], "<u4"),
        _costs(singles),
        _offs(pair_off.get((word,), 1.0) for word in range(count)),
        np.array([after_word[word] for word in range(count)], "<u4"),
        np.array([second for _, second in listed], "<u2"),
        _costs([pairs[gram] for gram in listed]),
        _offs(triple_off.get(gram, 1.0) for gram in listed),
        np.array([after_pair[gram] for gram in listed], "<u2"),
        np.array([third for _, _, third in threes], "<u2"),
        _costs([triples[gram] for gram in threes]),
    )
    path.write_bytes(b"FMLM" + b"".join(column.tobytes() for column in columns))


def _costs(values) -> np.ndarray:
    return np.clip(np.round(-STEP * np.log(np.asarray(list(values)))), 0, 255).astype(np.uint8)


def _offs(values) -> np.ndarray:
    return np.clip(np.round(128 - STEP * np.log(np.asarray(list(values)))), 0, 255).astype(np.uint8)


def perplexity(sentences: list[list[str]], vocabulary: list[str], model) -> tuple[float, float]:
    """Of the known words of sentences, and the share of words that are unknown."""
    singles, pairs, triples = model
    pair_off = back_offs(pairs, lambda gram: singles[gram[0]])
    triple_off = back_offs(triples, lambda gram: pairs.get(gram, pair_off.get(gram[:1], 1) * singles[gram[1]]))
    number = {word.lower(): at + FIRST_WORD for at, word in enumerate(vocabulary)}
    total, count, unknown = 0.0, 0, 0
    for words in sentences:
        line = [BEGIN, *(number.get(word.lower(), -1) for word in words), END]
        unknown += line.count(-1)
        for at in range(1, len(line)):
            if line[at] < 0:
                continue
            gram = tuple(one for one in line[max(0, at - 2) : at + 1])
            gram = gram if -1 not in gram else (line[at],) if line[at - 1] < 0 else gram[-2:]
            p = triples.get(gram) if len(gram) == 3 else None
            scale = 1.0
            if p is None and len(gram) == 3:
                scale, gram = triple_off.get(gram[:2], 1.0), gram[1:]
            if p is None and len(gram) == 2:
                p = pairs.get(gram)
                if p is None:
                    scale *= pair_off.get(gram[:1], 1.0)
            p = singles[gram[-1]] if p is None else p
            total -= math.log(p * scale)
            count += 1
    return math.exp(total / count), unknown / max(1, sum(map(len, sentences)))

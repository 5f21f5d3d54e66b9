"""Which word follows which: a Kneser-Ney model of three words, pruned, as bytes.

Layout, little-endian: "FMLM", then uint32 words, pairs, triples; for each word uint8 cost, uint8
back-off, uint32 pairs that begin with it; for each pair uint16 second word, uint8 cost, uint8
back-off, uint16 triples that begin with it; for each triple uint16 third word, uint8 cost. Each of these
columns lies whole, one after the other. Pairs and triples are sorted. Costs are -16 ln p; back-offs are
128 - 16 ln b. Words 0 and 1 are the sentence's beginning and end; the vocabulary follows.
"""

import functools
import math
import pathlib

import numpy as np

BEGIN, END, FIRST_WORD = 0, 1, 2
STEP = 16
PAIRS, TRIPLES = 1_500_000, 2_000_000
"""Kept: those that gain most over what is said without them."""
SHARES = {"sentences": 0.65, "prose": 0.35}
"""Of the sources in the mixture, chosen on the tuning sentences."""


class Model:
    """Probabilities of words, pairs and triples; a pair is numbered first * words + second, and so on."""

    def __init__(self, singles, pairs, pair_p, triples, triple_p):
        self.singles, self.pairs, self.pair_p, self.triples, self.triple_p = singles, pairs, pair_p, triples, triple_p
        words = len(singles)
        self.pair_off = _back_off(pairs // words, words, pair_p, singles[pairs % words])
        lower = self.of_pairs(triples % (words * words))
        self.triple_off = _back_off(_find(pairs, triples // words), len(pairs), triple_p, lower)

    def of_pairs(self, pairs: np.ndarray) -> np.ndarray:
        """Probabilities of the second words, each after its first one."""
        words, at = len(self.singles), _find(self.pairs, pairs)
        return np.where(at >= 0, self.pair_p[at], self.pair_off[pairs // words] * self.singles[pairs % words])

    def of_triples(self, triples: np.ndarray) -> np.ndarray:
        """Probabilities of the third words, each after the two before it."""
        words, at = len(self.singles), _find(self.triples, triples)
        context = _find(self.pairs, triples // words)
        off = np.where(context >= 0, self.triple_off[context], 1.0)
        return np.where(at >= 0, self.triple_p[at], off * self.of_pairs(triples % (words * words)))


def fit(sources: dict[str, list[list[str]]], vocabulary: list[str]) -> Model:
    """A model of each source, mixed by `SHARES`, then pruned by what each gram gains."""
    parts = [(SHARES[name], _fit_one(number_words(sentences, vocabulary), len(vocabulary))) for name, sentences in sources.items()]
    mixed = _mixed(parts)
    words = len(mixed.singles)
    line = number_words([words for sentences in sources.values() for words in sentences], vocabulary)
    counts = dict.fromkeys((2, 3))
    for order, grams in ((2, mixed.pairs), (3, mixed.triples)):
        found, seen = _grams(line, order, words)
        counts[order] = seen[_find(found, grams)]
    lower = mixed.triple_off[_find(mixed.pairs, mixed.triples // words)] * mixed.of_pairs(mixed.triples % (words * words))
    kept = _best(counts[3] * np.log(mixed.triple_p / lower), TRIPLES)
    triples, triple_p = mixed.triples[kept], mixed.triple_p[kept]
    needed = np.isin(mixed.pairs, triples // words) | np.isin(mixed.pairs, triples % (words * words))
    lower = mixed.pair_off[mixed.pairs // words] * mixed.singles[mixed.pairs % words]
    gain = np.where(needed, -np.inf, counts[2] * np.log(mixed.pair_p / lower))
    kept = needed | _best(gain, max(0, PAIRS - int(needed.sum())))
    return Model(mixed.singles, mixed.pairs[kept], mixed.pair_p[kept], triples, triple_p)


def _mixed(parts: list[tuple[float, Model]]) -> Model:
    """Linear interpolation over all that any of them has."""
    pairs = functools.reduce(np.union1d, [part.pairs for _, part in parts])
    triples = functools.reduce(np.union1d, [part.triples for _, part in parts])
    singles, pair_p, triple_p = (
        sum(share * found for (share, _), found in zip(parts, each))
        for each in zip(*((part.singles, part.of_pairs(pairs), part.of_triples(triples)) for _, part in parts))
    )
    return Model(singles, pairs, pair_p, triples, triple_p)


def _fit_one(line: np.ndarray, vocabulary: int) -> Model:
    """Interpolated Kneser-Ney with a discount for each small count (Chen and Goodman 1998)."""
    words = vocabulary + FIRST_WORD
    (pairs, pair_counts), (triples, triple_counts) = _grams(line, 2, words), _grams(line, 3, words)
    singles = np.bincount(pairs % words, minlength=words) + 0.5
    singles[BEGIN] = 1e-3
    singles = singles / singles.sum()
    continued, kinds = np.unique(triples % (words * words), return_counts=True)
    at = _find(continued, pairs)
    # What begins a sentence follows nothing: its true count stands.
    used = np.where((at >= 0) & (pairs // words != BEGIN), kinds[at], pair_counts)
    pair_p = _smooth(pairs // words, used, singles[pairs % words])
    lower = pair_p[_find(pairs, triples % (words * words))]
    return Model(singles, pairs, pair_p, triples, _smooth(triples // words, triple_counts, lower))


def number_words(sentences, vocabulary) -> np.ndarray:
    """All sentences in a row, each with its beginning and end; -1 is unknown."""
    number = {word.lower(): at + FIRST_WORD for at, word in enumerate(vocabulary)}
    line = []
    for words in sentences:
        line += [BEGIN, *(number.get(word.lower(), -1) for word in words), END]
    return np.array(line, np.int64)


def _grams(line: np.ndarray, order: int, words: int) -> tuple[np.ndarray, np.ndarray]:
    parts = [line[at : len(line) - order + 1 + at] for at in range(order)]
    whole = np.all([part >= 0 for part in parts], 0) & np.all([part != BEGIN for part in parts[1:]], 0)
    numbers = parts[0]
    for part in parts[1:]:
        numbers = numbers * words + part
    return np.unique(numbers[whole], return_counts=True)


def _smooth(contexts: np.ndarray, counts: np.ndarray, lower: np.ndarray) -> np.ndarray:
    """Probability of each gram."""
    of_count = np.bincount(counts[counts <= 4], minlength=5)[1:].astype(float)
    share = of_count[0] / (of_count[0] + 2 * of_count[1])
    discounts = np.array([0.0, *(n - (n + 1) * share * of_count[n] / of_count[n - 1] for n in (1, 2, 3))])
    taken = discounts[np.minimum(counts, 3)]
    _, place = np.unique(contexts, return_inverse=True)
    total = np.bincount(place, counts)[place]
    left = np.bincount(place, taken)[place] / total
    return (counts - taken) / total + left * lower


def _best(gain: np.ndarray, most: int) -> np.ndarray:
    kept = np.zeros(len(gain), bool)
    kept[np.argsort(-gain)[:most]] = True
    return kept & (gain > 0)


def _find(sorted_numbers: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Places; -1 where it is not."""
    at = np.minimum(np.searchsorted(sorted_numbers, wanted), len(sorted_numbers) - 1)
    return np.where(sorted_numbers[at] == wanted, at, -1)


def _back_off(contexts: np.ndarray, count: int, p: np.ndarray, lower: np.ndarray) -> np.ndarray:
    """What is left of each context's probability, over what its words have without it."""
    kept, covered = (np.bincount(contexts, values, count) for values in (p, lower))
    return np.maximum(1 - kept, 1e-4) / np.maximum(1 - covered, 1e-4)


def write(path: pathlib.Path, model: Model) -> None:
    """Writes the layout above."""
    words = len(model.singles)
    columns = (
        np.array([words, len(model.pairs), len(model.triples)], "<u4"),
        _costs(model.singles),
        _offs(model.pair_off),
        np.bincount(model.pairs // words, minlength=words).astype("<u4"),
        (model.pairs % words).astype("<u2"),
        _costs(model.pair_p),
        _offs(model.triple_off),
        np.bincount(_find(model.pairs, model.triples // words), minlength=len(model.pairs)).astype("<u2"),
        (model.triples % words).astype("<u2"),
        _costs(model.triple_p),
    )
    path.write_bytes(b"FMLM" + b"".join(column.tobytes() for column in columns))


def _costs(values: np.ndarray) -> np.ndarray:
    return np.clip(np.round(-STEP * np.log(values)), 0, 255).astype(np.uint8)


def _offs(values: np.ndarray) -> np.ndarray:
    return np.clip(np.round(128 - STEP * np.log(values)), 0, 255).astype(np.uint8)


def perplexity(sentences: list[list[str]], vocabulary: list[str], model: Model) -> tuple[float, float]:
    """Of the known words of sentences, and the share of words that are unknown."""
    words, line = len(model.singles), number_words(sentences, vocabulary)
    third, second, first = line[2:], line[1:-1], line[:-2]
    known = (third >= 0) & (third != BEGIN)
    two = known & (second >= 0)
    three = two & (second != BEGIN) & (first >= 0)
    p = np.where(known, model.singles[third], 1.0)
    p[two] = model.of_pairs(second[two] * words + third[two])
    p[three] = model.of_triples((first[three] * words + second[three]) * words + third[three])
    return math.exp(-np.log(p[known]).mean()), float((line < 0).mean() / (line != BEGIN).mean())

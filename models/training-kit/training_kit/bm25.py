"""BM25 over a fixed set of passages; k1 = 1.2, b = 0.75."""

import numpy as np
from scipy import sparse

from .words import stem, words_of

K1, B = 1.2, 0.75


class Bm25:
    """Scores of words against passages, words cut to their stems."""

    def __init__(self, passages: list[str]) -> None:
        self.columns: dict[str, int] = {}
        rows, columns, counts = [], [], []
        for row, passage in enumerate(passages):
            found: dict[int, int] = {}
            for word in words_of(passage):
                column = self.columns.setdefault(stem(word), len(self.columns))
                found[column] = found.get(column, 0) + 1
            rows += [row] * len(found)
            columns += found.keys()
            counts += found.values()
        self.weights = self.weigh(np.array(rows), np.array(columns), np.array(counts, float), len(passages))

    def weigh(self, rows: np.ndarray, columns: np.ndarray, counts: np.ndarray, passages: int) -> sparse.csc_matrix:
        """[passages, words]: what a word of the query adds to a passage."""
        lengths = np.bincount(rows, counts, passages)
        frequency = np.bincount(columns, minlength=len(self.columns))
        rarity = np.log(1 + (passages - frequency + 0.5) / (frequency + 0.5))
        share = 1 - B + B * lengths[rows] / lengths.mean()
        values = rarity[columns] * counts * (K1 + 1) / (counts + K1 * share)
        return sparse.csc_matrix((values, (rows, columns)), (passages, len(self.columns)))

    def scores(self, query: str) -> np.ndarray:
        """[passages]."""
        columns = [self.columns[stem(word)] for word in words_of(query) if stem(word) in self.columns]
        return np.asarray(self.weights[:, columns].sum(1)).ravel()

    def best(self, query: str, count: int) -> np.ndarray:
        """Numbers of the passages that have a score, best first."""
        scores = self.scores(query)
        order = np.argsort(-scores, kind="stable")[:count]
        return order[scores[order] > 0]

"""Measures of rankings."""

import numpy as np


def ndcg_at_10(scores: np.ndarray, answer: int) -> float:
    """Of one query with one right passage; passages of one score stay in their order."""
    rank = int((scores > scores[answer]).sum() + (scores[:answer] == scores[answer]).sum())
    return float(1 / np.log2(rank + 2)) if rank < 10 else 0.0

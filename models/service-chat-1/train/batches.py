"""What one step learns from: conversations made for it, in rows of like length."""

import numpy as np
import torch
from tokenizers import Tokenizer

from .mixture import conversations
from .sizes import CONTEXT, Size
from .vocabulary import PAD_ID

HELD_OUT_SEEDS = 1_000_000_000

Part = tuple[torch.Tensor, torch.Tensor]
"""Ids [B, S], and which of them are learned [B, S]."""


def encode(tokenizer: Tokenizer, parts: list[tuple[str, bool]]) -> tuple[list[int], list[bool]]:
    """Ids, and whether each is to be learned; what is too long is cut."""
    ids, learned = [], []
    for (text, spoken), row in zip(parts, tokenizer.encode_batch([text for text, _ in parts]), strict=True):
        del text
        ids += row.ids
        learned += [spoken] * len(row.ids)
    return ids[:CONTEXT], learned[:CONTEXT]


def batch(tokenizer: Tokenizer, seed: int, size: Size) -> list[Part]:
    """Rows of like length lie in one part; the parts together are one step."""
    rows = [encode(tokenizer, parts) for parts in conversations(seed, size.conversations)]
    rows.sort(key=lambda row: len(row[0]))
    parts: list[list[tuple[list[int], list[bool]]]] = [[]]
    for row in rows:
        if parts[-1] and is_full(parts[-1], len(row[0]), size.places):
            parts.append([])
        parts[-1].append(row)
    return [padded(part) for part in parts]


def is_full(part: list[tuple[list[int], list[bool]]], length: int, places: int) -> bool:
    """Whether a longer row would make a part too large, or pad its rows by more than a quarter."""
    return (len(part) + 1) * length > places or length > 1.25 * len(part[0][0]) + 4


def padded(rows: list[tuple[list[int], list[bool]]]) -> Part:
    """Rows filled up behind their ends."""
    longest = max(len(ids) for ids, _ in rows)
    ids = np.full((len(rows), longest), PAD_ID, np.int64)
    learned = np.zeros((len(rows), longest), bool)
    for at, (row, spoken) in enumerate(rows):
        ids[at, : len(row)] = row
        learned[at, : len(row)] = spoken
    return torch.from_numpy(ids), torch.from_numpy(learned)

"""Prompt -> hashed ids: each word gives its own id and those of its 4-grams."""

import functools
import re

import numpy as np

from .shapes import IDS_PER_WORD, PROMPT_WORDS, VOCABULARY

GRAM = 4


def tokenize(text: str) -> np.ndarray:
    """-> [32, 10] int64 in 1..32767, 0 where there is no word or no further gram."""
    ids = np.zeros((PROMPT_WORDS, IDS_PER_WORD), np.int64)
    words = re.findall(r"[^\W_]+", text.lower())[:PROMPT_WORDS]
    for row, word in zip(ids, words):
        codes = word_ids(word)
        row[: len(codes)] = codes
    return ids


@functools.lru_cache(100_000)
def word_ids(word: str) -> list[int]:
    """At most 10 ids: "w:" + word, then the 4-grams of "<" + word + ">"."""
    marked = f"<{word}>"
    grams = [marked[i : i + GRAM] for i in range(max(1, len(marked) - GRAM + 1))]
    return [1 + fnv1a(item) % (VOCABULARY - 1) for item in ["w:" + word, *grams][:IDS_PER_WORD]]


def fnv1a(text: str) -> int:
    """32-bit FNV-1a of the UTF-8 bytes."""
    value = 2166136261
    for byte in text.encode():
        value = ((value ^ byte) * 16777619) & 0xFFFFFFFF
    return value

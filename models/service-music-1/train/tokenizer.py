"""Prompt -> hashed ids: each word or digit gives its own id and those of its 4-grams."""

import functools
import re

import numpy as np

WORDS, IDS_PER_WORD, BUCKETS, GRAM = 40, 8, 4096, 4
SPELLED = {"#": " sharp ", "♯": " sharp ", "♭": " flat "}


def tokenize(text: str) -> np.ndarray:
    """-> [40, 8] int64 in 1..4095, 0 where there is no word or no further gram."""
    ids = np.zeros((WORDS, IDS_PER_WORD), np.int64)
    for row, word in zip(ids, split_words(text)[:WORDS]):
        codes = word_ids(word)
        row[: len(codes)] = codes
    return ids


def split_words(text: str) -> list[str]:
    """Lower-case runs of letters, and single digits: a number is read digit by digit."""
    text = re.sub(r"[#♯♭]", lambda sign: SPELLED[sign.group()], text)
    return re.findall(r"[^\W_]+", re.sub(r"[0-9]", r" \g<0> ", text).lower())


@functools.lru_cache(maxsize=8192)
def word_ids(word: str) -> list[int]:
    """At most 8 ids: "w:" + word, then the 4-grams of "<" + word + ">"."""
    marked = f"<{word}>"
    grams = [marked[at : at + GRAM] for at in range(max(1, len(marked) - GRAM + 1))]
    return [1 + fnv1a(piece) % (BUCKETS - 1) for piece in ["w:" + word, *grams][:IDS_PER_WORD]]


def fnv1a(text: str) -> int:
    """32-bit FNV-1a of the UTF-8 bytes."""
    value = 2166136261
    for byte in text.encode():
        value = ((value ^ byte) * 16777619) & 0xFFFFFFFF
    return value

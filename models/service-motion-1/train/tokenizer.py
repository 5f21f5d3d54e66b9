"""Prompt -> hashed ids: each word gives its own id and those of its 4-grams."""

import functools
import re

import numpy as np

from .shapes import IDS_PER_WORD, PROMPT_WORDS, VOCABULARY

GRAM = 4
_GAP = r"[ ,.:;!?'’-]+"
_THING = r"(?:me|us|an?|the|some|one)\b"
UNREAD = (
    # could you please draw me
    rf"^(?:please{_GAP})?(?:(?:can|could|would|will) you{_GAP}|i(?: |[’']?d | would )(?:like|love|want|need){_GAP}(?:to (?:see|have){_GAP})?"
    rf"|let[’']?s (?:see|have){_GAP})?(?:please{_GAP})?(?:(?:draw|generate|create|render|(?:paint|sketch|make|show|give|produce|design|imagine)"
    rf"(?={_GAP}{_THING})){_GAP}(?:(?:me|us){_GAP})?)?",
    # a beautiful picture of
    rf"^(?:(?:an?|the|some|one){_GAP})?(?:(?:short|little|small|nice|beautiful|cute|cool|simple|funny|colou?rful|flat|vector|cartoon|digital"
    rf"|photorealistic|realistic|detailed|highly|high|quality|hd|4k|8k){_GAP})*(?:picture|image|photo|photograph|drawing|painting|illustration"
    rf"|sketch|artwork|wallpaper|icon|video|clip|animation|movie|film|gif)s?(?: (?:of|with|showing|about|where|in which|that shows)\b|:){_GAP}",
    # , highly detailed, 4k
    r"[ ,](?:please|4k|8k|u?hd|photorealistic|hyperrealistic|(?:highly|very) detailed|high (?:quality|resolution)|masterpiece|cinematic)(?![a-z])",
)
"""What people write around what they want to see, and no caption of the training: taken off in this order."""
SETTINGS = {
    "kind": "hashed-ngram",
    "buckets": VOCABULARY,
    "words": PROMPT_WORDS,
    "idsPerWord": IDS_PER_WORD,
    "gram": GRAM,
    "unread": list(UNREAD),
}
"""As in model.json."""


def tokenize(text: str) -> np.ndarray:
    """-> [32, 10] int64 in 1..32767, 0 where there is no word or no further gram."""
    ids = np.zeros((PROMPT_WORDS, IDS_PER_WORD), np.int64)
    text = functools.reduce(lambda rest, pattern: re.sub(pattern, "", rest), UNREAD, text.lower())
    words = re.findall(r"[^\W_]+", text)[:PROMPT_WORDS]
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

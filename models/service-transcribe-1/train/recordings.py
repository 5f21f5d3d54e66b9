"""Recordings of people in Debian's packages, with what they say: the players of two games, and a telephone exchange."""

import gzip
import re
from collections.abc import Iterator

import numpy as np

from . import amazon_queen, steel_sky
from .texts import UNPACKED
from .utterance import decode

PROMPTS = UNPACKED / "usr/share/asterisk/sounds/en_US_f_Allison"
PROMPT_TEXTS = UNPACKED / "usr/share/doc/asterisk-core-sounds-en/core-sounds-en.txt.gz"
Recording = tuple[str, np.ndarray]
"""Text, samples."""


def recordings() -> dict[str, Iterator[Recording]]:
    """All recordings of each source."""
    return {
        "queen": played(amazon_queen.lines(), amazon_queen.SOUND_FORM),
        "sky": played(
            ((text, steel_sky.sound_of(data)) for text, data in steel_sky.lines()),
            steel_sky.SOUND_FORM,
            steel_sky.SOUND_RATE_HZ,
        ),
        "asterisk": asterisk(),
    }


def played(lines: Iterator[tuple[str, bytes]], form: str, rate_hz: int | None = None) -> Iterator[Recording]:
    """Some thirty players of a game."""
    for text, sound in lines:
        if text := plain(text):
            yield text, decode(sound, form, rate_hz)


def asterisk() -> Iterator[Recording]:
    """Prompts of one speaker; those with tones or figures are left out."""
    for line in gzip.open(PROMPT_TEXTS, "rt", encoding="utf8"):
        name, _, text = line.strip().partition(":")
        path = PROMPTS / f"{name}.g722"
        text = plain(re.sub(r"\[.*?\]|\(.*?\)|<.*?>|umute", " ", text))
        if text and path.exists() and not line.startswith(";"):
            yield text, decode(path.read_bytes(), "g722")


def plain(text: str) -> str:
    """The text as sentences of words, empty where it has figures or signs that may be read in several ways."""
    text = " ".join(text.replace("...", " ").replace("`", "'").split())
    text = re.sub(r"\b[A-Z]{2,}\b", lambda stressed: stressed[0].lower(), text)
    return text if re.fullmatch(r"[A-Za-z ,.!?;:'\"-]*[A-Za-z][A-Za-z ,.!?;:'\"-]*", text) else ""

"""How words sound: as flite's dictionary, espeak-ng's rules and the spoken corpus say them."""

import collections
import ctypes
import json
import pathlib

from .espeak_voice import _espeak
from training_kit.flite import pronounce
from .make_corpus import MINUTES
from .phones import SILENCE, translate

LEAST_SHARE = 0.05
LEAST_COUNT = 4
MOST_FORMS = 4


def make_lexicon(folder: pathlib.Path, vocabulary: list[str]) -> list[list[str]]:
    """For each word its pronunciations, phones apart by spaces."""
    said = _said(folder)
    return [_forms(word.lower(), said.get(word.lower(), {})) for word in vocabulary]


def _said(folder: pathlib.Path) -> dict[str, collections.Counter]:
    said = collections.defaultdict(collections.Counter)
    for voice in MINUTES:
        for word, forms in json.loads((folder / f"corpus-{voice}.json").read_text()).items():
            said[word].update(forms)
    return said


def _forms(word: str, said: dict[str, int]) -> list[str]:
    forms = dict.fromkeys((" ".join(_flite(word)), " ".join(_espeak_phones(word))))
    total, longest = sum(said.values()), max(len(form.split()) for form in forms)
    for form, count in sorted(said.items(), key=lambda item: -item[1]):
        # A longer form has swallowed the word after it.
        if count >= max(LEAST_COUNT, LEAST_SHARE * total) and len(form.split()) <= longest:
            forms[form] = None
    return [form for form in forms if form][:MOST_FORMS]


def _flite(word: str) -> list[str]:
    if "'" in word:
        stem, _, ending = word.partition("'")
        if ending != "s":
            return []
        return _flite(stem) + _plural(_flite(stem))
    return _join(pronounce(word))


def _plural(stem: list[str]) -> list[str]:
    if stem and stem[-1] in {"s", "z", "sh", "zh", "ch", "jh"}:
        return ["ih", "z"]
    return ["s"] if stem and stem[-1] in {"p", "t", "k", "f", "th"} else ["z"]


def _espeak_phones(word: str) -> list[str]:
    espeak, _ = _espeak()
    espeak.espeak_SetVoiceByName(b"en-us")
    espeak.espeak_TextToPhonemes.restype = ctypes.c_char_p
    text = ctypes.c_char_p(word.encode("ascii"))
    separated = espeak.espeak_TextToPhonemes(ctypes.byref(text), 1, ord("|") << 8)
    names = [name.strip("',%= ") for name in separated.decode("latin1").replace(" ", "|").split("|")]
    return _join([name for name in names if name])


def _join(names: list[str]) -> list[str]:
    phones = []
    for name in names:
        translated = translate(name)
        if translated is None:
            return []
        for phone in translated:
            # espeak-ng writes an r that links a syllable to the r before it.
            if phone != SILENCE and not (phone == "r" and phones and phones[-1] in {"er", "r"}):
                phones.append(phone)
    return phones

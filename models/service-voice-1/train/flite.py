"""flite as a teacher, called as a library: segments, words and sound."""

import ctypes
from dataclasses import dataclass
from functools import cache

import numpy as np

POINTER = ctypes.c_void_p
LIBRARIES = "libflite.so.1", "libflite_usenglish.so.1", "libflite_cmulex.so.1"


class Wave(ctypes.Structure):
    _fields_ = [
        ("type", ctypes.c_char_p),
        ("rate", ctypes.c_int),
        ("samples", ctypes.c_int),
        ("channels", ctypes.c_int),
        ("values", ctypes.POINTER(ctypes.c_short)),
    ]


@dataclass(frozen=True)
class Segment:
    name: str
    end: float
    """Seconds."""
    is_stressed: bool
    starts_word: bool
    word: str


@dataclass(frozen=True)
class Spoken:
    segments: list[Segment]
    wave: np.ndarray
    rate: int


@cache
def library() -> dict:
    """The functions that are called, with their types."""
    loaded = [ctypes.CDLL(name, mode=ctypes.RTLD_GLOBAL) for name in LIBRARIES]
    text, number = ctypes.c_char_p, ctypes.c_float
    signatures = {
        "flite_synth_text": (POINTER, [text, POINTER]),
        "utt_relation": (POINTER, [POINTER, text]),
        "relation_head": (POINTER, [POINTER]),
        "item_next": (POINTER, [POINTER]),
        "item_parent": (POINTER, [POINTER]),
        "item_as": (POINTER, [POINTER, text]),
        "ffeature_string": (text, [POINTER, text]),
        "ffeature_float": (number, [POINTER, text]),
        "utt_wave": (POINTER, [POINTER]),
        "val_car": (POINTER, [POINTER]),
        "val_cdr": (POINTER, [POINTER]),
        "val_string": (text, [POINTER]),
        "delete_utterance": (None, [POINTER]),
        "new_utterance": (POINTER, []),
        "utt_set_input_text": (ctypes.c_int, [POINTER, text]),
        "utt_init": (POINTER, [POINTER, POINTER]),
        "utt_synth_text2segs": (POINTER, [POINTER]),
    }
    functions = {}
    for name, (result, arguments) in signatures.items():
        function = getattr(loaded[0], name)
        function.restype, function.argtypes = result, arguments
        functions[name] = function
    loaded[0].flite_init()
    return functions


@cache
def open_voice(name: str):
    """A voice by its name, such as rms."""
    library()
    register = getattr(ctypes.CDLL(f"libflite_cmu_us_{name}.so.1"), f"register_cmu_us_{name}")
    register.restype, register.argtypes = POINTER, [ctypes.c_char_p]
    return register(None)


def speak(text: str, voice: str) -> Spoken:
    """A text spoken, with everything that is known about it. The noise in it, the C library's, is always the same."""
    calls = library()
    ctypes.CDLL(None).srand(1)
    utterance = calls["flite_synth_text"](text.encode(), open_voice(voice))
    wave = ctypes.cast(calls["utt_wave"](utterance), ctypes.POINTER(Wave)).contents
    samples = np.ctypeslib.as_array(wave.values, (wave.samples,)).astype(np.float32) / 32768
    spoken = Spoken(segments_of(utterance), samples, wave.rate)
    calls["delete_utterance"](utterance)
    return spoken


def pronounce(text: str) -> list[Segment]:
    """The sounds of a text, their ends not known."""
    calls = library()
    utterance = calls["new_utterance"]()
    calls["utt_set_input_text"](utterance, text.encode())
    calls["utt_init"](utterance, open_voice("kal16"))
    calls["utt_synth_text2segs"](utterance)
    segments = segments_of(utterance, with_ends=False)
    calls["delete_utterance"](utterance)
    return segments


def segments_of(utterance, with_ends: bool = True) -> list[Segment]:
    """Sounds in order."""
    calls = library()
    item = calls["relation_head"](calls["utt_relation"](utterance, b"Segment"))
    segments, last_word = [], None
    while item:
        syllable = calls["item_parent"](calls["item_as"](item, b"SylStructure"))
        word = calls["item_parent"](syllable) if syllable else None
        feature = lambda path, at=item: calls["ffeature_string"](at, path).decode("latin-1")
        end = calls["ffeature_float"](item, b"end") if with_ends else 0.0
        stressed = feature(b"R:SylStructure.parent.stress") == "1"
        name = feature(b"R:SylStructure.parent.parent.name") if word else ""
        starts = word is not None and word != last_word
        segments.append(Segment(feature(b"name"), end, stressed, starts, name))
        last_word = word
        item = calls["item_next"](item)
    return segments


def look_up(word: str) -> list[str]:
    """Sounds of a word by flite's lexicon and letter rules, stress 0 or 1 behind vowels."""
    calls = library()
    value = lexicon()["lex_lookup"](lexicon()["lex"], word.encode(), None, None)
    sounds = []
    while value:
        sounds.append(calls["val_string"](calls["val_car"](value)).decode())
        value = calls["val_cdr"](value)
    return sounds


@cache
def lexicon() -> dict:
    """The lexicon and the function that reads it."""
    library()
    flite = ctypes.CDLL(LIBRARIES[0])
    open_lexicon = ctypes.CDLL(LIBRARIES[2]).cmu_lex_init
    open_lexicon.restype = POINTER
    look = flite.lex_lookup
    look.restype, look.argtypes = POINTER, [POINTER, ctypes.c_char_p, ctypes.c_char_p, POINTER]
    return {"lex": open_lexicon(), "lex_lookup": look}

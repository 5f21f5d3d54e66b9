"""flite called as a library: the sounds of a sentence with what they are part of, and how a voice says it."""

import ctypes
import dataclasses
import functools
from collections.abc import Iterator

import numpy as np


@dataclasses.dataclass(eq=False)
class Segment:
    """A sound of a sentence; numbers of what it is part of, -1 for silence."""

    name: str
    end: float = 0.0
    """Seconds; 0 where nothing was spoken."""
    text: str | None = None
    """Its word."""
    starts_word: bool = False
    syllable: int = -1
    word: int = -1
    phrase: int = -1
    stress: int = 0
    accent: int = 0
    part: str = "0"


class _Wave(ctypes.Structure):
    _fields_ = [
        ("type", ctypes.c_char_p),
        ("rate", ctypes.c_int),
        ("samples", ctypes.c_int),
        ("channels", ctypes.c_int),
        ("values", ctypes.POINTER(ctypes.c_short)),
    ]


def speak(voice: str, text: str, stretch: float = 1.0) -> tuple[np.ndarray, int, list[Segment]]:
    """Mono samples in -1..1, their rate in Hz and their sounds; `stretch` above 1 is slower.

    The noise in it, the C library's, is always the same.
    """
    flite, handle = _voice(voice)
    flite.feat_set_float(flite.features_of(handle), b"duration_stretch", stretch)
    ctypes.CDLL(None).srand(1)
    utterance = flite.flite_synth_text(text.encode("ascii"), handle)
    try:
        wave = flite.utt_wave(utterance).contents
        samples = np.ctypeslib.as_array(wave.values, (wave.samples,)).astype(np.float32) / 32768
        return samples, wave.rate, list(_segments(flite, utterance))
    finally:
        flite.delete_utterance(utterance)


def analyse(text: str) -> list[Segment]:
    """The sounds of a sentence as it is spoken, with accents and phrases."""
    return speak("kal16", text)[2]


def read(text: str) -> list[Segment]:
    """The sounds of a text as the lexicon has them, without accents and ends."""
    flite, handle = _voice("kal16")
    utterance = flite.new_utterance()
    flite.utt_set_input_text(utterance, text.encode("ascii"))
    flite.utt_init(utterance, handle)
    flite.utt_synth_text2segs(utterance)
    try:
        return list(_segments(flite, utterance, has_ends=False))
    finally:
        flite.delete_utterance(utterance)


def pronounce(word: str) -> list[str]:
    """Sounds of a word by flite's dictionary or its letter rules, stress 0 or 1 behind vowels."""
    flite, _ = _voice("kal16")
    value = flite.lex_lookup(_lexicon(), word.encode("ascii"), None, None)
    sounds, at = [], value
    while at:
        sounds.append(flite.val_string(flite.val_car(at)).decode())
        at = flite.val_cdr(at)
    flite.delete_val(value)
    return sounds


def _segments(flite, utterance, has_ends: bool = True) -> Iterator[Segment]:
    seen = {"syllable": [], "word": [], "phrase": []}

    def number(level: str, item) -> int:
        # Items of several relations share their contents, not their address; ours are met in order.
        if not seen[level] or seen[level][-1] != item:
            seen[level].append(item)
        return len(seen[level]) - 1

    item, last = flite.relation_head(flite.utt_relation(utterance, b"Segment")), -1
    while item:
        found = Segment(flite.item_feat_string(item, b"name").decode())
        found.end = flite.item_feat_float(item, b"end") if has_ends else 0.0
        syllable = flite.item_parent(flite.item_as(item, b"SylStructure"))
        if syllable:
            word = flite.item_parent(syllable)
            phrase = flite.item_parent(flite.item_as(word, b"Phrase"))
            found.text = flite.item_feat_string(word, b"name").decode()
            found.syllable, found.word = number("syllable", syllable), number("word", word)
            found.phrase = number("phrase", phrase)
            found.stress = int(flite.ffeature_string(syllable, b"stress") or 0)
            found.accent = int(flite.ffeature_string(syllable, b"accent") not in (None, b"", b"0", b"NONE"))
            found.part = flite.ffeature_string(word, b"gpos").decode()
        found.starts_word = found.word not in (-1, last)
        last = found.word
        yield found
        item = flite.item_next(item)


@functools.cache
def _lexicon():
    _voice("kal16")
    library = ctypes.CDLL("libflite_cmulex.so.1", mode=ctypes.RTLD_GLOBAL)
    library.cmu_lex_init.restype = ctypes.c_void_p
    return library.cmu_lex_init()


@functools.cache
def _library():
    flite = ctypes.CDLL("libflite.so.1", mode=ctypes.RTLD_GLOBAL)
    pointer, text, number = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_float
    for name, result, arguments in (
        ("flite_synth_text", pointer, (text, pointer)),
        ("new_utterance", pointer, ()),
        ("utt_set_input_text", ctypes.c_int, (pointer, text)),
        ("utt_init", pointer, (pointer, pointer)),
        ("utt_synth_text2segs", pointer, (pointer,)),
        ("utt_wave", ctypes.POINTER(_Wave), (pointer,)),
        ("delete_utterance", None, (pointer,)),
        ("utt_relation", pointer, (pointer, text)),
        ("relation_head", pointer, (pointer,)),
        ("item_next", pointer, (pointer,)),
        ("item_feat_float", number, (pointer, text)),
        ("item_feat_string", text, (pointer, text)),
        ("ffeature_string", text, (pointer, text)),
        ("item_as", pointer, (pointer, text)),
        ("item_parent", pointer, (pointer,)),
        ("feat_set_float", None, (pointer, text, number)),
        ("lex_lookup", pointer, (pointer, text, text, pointer)),
        ("val_string", text, (pointer,)),
        ("val_car", pointer, (pointer,)),
        ("val_cdr", pointer, (pointer,)),
        ("delete_val", None, (pointer,)),
    ):
        function = getattr(flite, name)
        function.restype, function.argtypes = result, list(arguments)
    flite.flite_init()
    for name in ("usenglish", "cmulex"):
        ctypes.CDLL(f"libflite_{name}.so.1", mode=ctypes.RTLD_GLOBAL)
    # cst_voice begins with its name, then its features.
    flite.features_of = lambda voice: ctypes.cast(voice, ctypes.POINTER(ctypes.c_void_p))[1]
    return flite


@functools.cache
def _voice(name: str):
    flite = _library()
    library = ctypes.CDLL(f"libflite_cmu_us_{name}.so.1", mode=ctypes.RTLD_GLOBAL)
    register = getattr(library, f"register_cmu_us_{name}")
    register.restype, register.argtypes = ctypes.c_void_p, [ctypes.c_char_p]
    return flite, register(None)

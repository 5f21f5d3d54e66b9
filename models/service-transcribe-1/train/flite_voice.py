"""flite's voices through its library: samples with the phones and words that they say."""

import ctypes
import dataclasses
import functools

import numpy as np

from .utterance import Piece, Utterance, from_pieces

VOICES = ("slt", "rms", "awb", "kal16")


class _Wave(ctypes.Structure):
    _fields_ = [
        ("type", ctypes.c_char_p),
        ("sample_rate", ctypes.c_int),
        ("num_samples", ctypes.c_int),
        ("num_channels", ctypes.c_int),
        ("samples", ctypes.POINTER(ctypes.c_short)),
    ]


def speak(voice: str, text: str, stretch: float = 1.0) -> Utterance:
    """`stretch` above 1 is slower. Phones keep flite's own names."""
    flite, handle = _voice(voice)
    flite.feat_set_float(flite.features_of(handle), b"duration_stretch", stretch)
    utterance = flite.flite_synth_text(text.encode("ascii"), handle)
    try:
        wave = flite.utt_wave(utterance).contents
        samples = np.ctypeslib.as_array(wave.samples, (wave.num_samples,)).astype(np.float32) / 32768
        return from_pieces(samples, wave.sample_rate, _pieces(flite, utterance))
    finally:
        flite.delete_utterance(utterance)


def _pieces(flite, utterance) -> list[Piece]:
    pieces, start, previous = [], 0.0, None
    item = flite.relation_head(flite.utt_relation(utterance, b"Segment"))
    while item:
        end = flite.item_feat_float(item, b"end")
        name = flite.item_feat_string(item, b"name").decode()
        syllable = flite.item_parent(flite.item_as(item, b"SylStructure"))
        word = flite.item_parent(syllable) if syllable else None
        text = flite.item_feat_string(word, b"name").decode() if word else None
        pieces.append(Piece(name, start, end, text, word is not None and word != previous))
        start, previous, item = end, word, flite.item_next(item)
    return pieces


@dataclasses.dataclass(eq=False)
class Segment:
    """A phone of an analysed sentence; numbers of what it is part of, -1 for silence."""

    name: str
    text: str | None = None
    syllable: int = -1
    word: int = -1
    phrase: int = -1
    stress: int = 0
    accent: int = 0
    part: str = "0"


def analyse(text: str) -> list[Segment]:
    """flite's phones of a sentence with the syllables, words and phrases that they make."""
    flite, handle = _voice("kal16")
    utterance = flite.flite_synth_text(text.encode("ascii"), handle)
    try:
        return list(_segments(flite, utterance))
    finally:
        flite.delete_utterance(utterance)


def _segments(flite, utterance):
    seen = {"syllable": [], "word": [], "phrase": []}

    def number(level: str, item) -> int:
        # Items of several relations share their contents, not their address; ours are met in order.
        if not seen[level] or seen[level][-1] != item:
            seen[level].append(item)
        return len(seen[level]) - 1

    item = flite.relation_head(flite.utt_relation(utterance, b"Segment"))
    while item:
        found = Segment(flite.item_feat_string(item, b"name").decode())
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
        yield found
        item = flite.item_next(item)


def pronounce(word: str) -> list[str]:
    """flite's phones of a word by its dictionary, or by its letter rules."""
    flite, _ = _voice("kal16")
    value = flite.lex_lookup(_lexicon(), word.encode("ascii"), None, None)
    phones, at = [], value
    while at:
        phones.append(flite.val_string(flite.val_car(at)).decode())
        at = flite.val_cdr(at)
    flite.delete_val(value)
    return phones


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

"""espeak-ng through its library: samples with the phones and words that they say."""

import ctypes
import functools

import numpy as np

from .utterance import Piece, Utterance, from_pieces

VARIANTS = (
    "m1 m2 m3 m4 m6 m7 m8 f1 f2 f3 f5 croak klatt klatt2 klatt4 adam Alex Alicia Andrea Andy antonio aunty "
    "benjamin boris caleb david Denis Diogo ed edward Gene gustave Henrique Hugo iven iven2 Jacky john linda "
    "Marco Mario Mike miguel Nguyen pablo paul pedro quincy rob robert sandro shelby Steph travis victor zac anika"
).split()
HELD_OUT_VARIANTS = "m5 f4 Annie Michael Lee belinda max grandpa".split()

_SYNCHRONOUS, _PHONEME_EVENTS, _UTF8 = 2, 1, 1
_WORD, _PHONEME = 1, 7
_RATE, _PITCH, _RANGE = 1, 3, 4


class _Name(ctypes.Union):
    _fields_ = [("number", ctypes.c_int), ("name", ctypes.c_char_p), ("string", ctypes.c_char * 8)]


class _Event(ctypes.Structure):
    _fields_ = [
        ("type", ctypes.c_int),
        ("unique", ctypes.c_uint),
        ("text_position", ctypes.c_int),
        ("length", ctypes.c_int),
        ("audio_position", ctypes.c_int),
        ("sample", ctypes.c_int),
        ("user_data", ctypes.c_void_p),
        ("id", _Name),
    ]


_Callback = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.POINTER(ctypes.c_short), ctypes.c_int, ctypes.POINTER(_Event)
)


def speak(voice: str, text: str, rate: int = 165, pitch: int = 50, span: int = 50) -> Utterance:
    """`voice` like en-us+m3; words a minute; pitch and its range 0 to 100. Phones keep espeak's names."""
    espeak, heard = _espeak()
    heard.samples.clear()
    heard.events.clear()
    if espeak.espeak_SetVoiceByName(voice.encode()) != 0:
        raise SystemExit(f"espeak-ng has no voice {voice}")
    for parameter, value in ((_RATE, rate), (_PITCH, pitch), (_RANGE, span)):
        espeak.espeak_SetParameter(parameter, value, 0)
    written = text.encode("ascii")
    espeak.espeak_Synth(written, len(written) + 1, 0, 1, 0, _UTF8, None, None)
    espeak.espeak_Synchronize()
    samples = np.concatenate(heard.samples or [np.zeros(1)]).astype(np.float32) / 32768
    return from_pieces(samples, heard.rate_hz, _pieces(heard, text, len(samples) / heard.rate_hz))


def _pieces(heard, text: str, length: float) -> list[Piece]:
    pieces, word, opens = [], None, False
    for kind, value, at in heard.events:
        if kind == _WORD:
            word, opens = next(iter(text[value - 1 :].split()), "").strip(","), True
            continue
        start = at / heard.rate_hz
        if pieces:
            pieces[-1].end = start
        silent = value.startswith("_")
        pieces.append(Piece(value, start, length, None if silent else word, opens and not silent))
        opens = opens and silent
    return pieces


class _Heard:
    def __init__(self):
        self.samples, self.events, self.rate_hz = [], [], 22050

    def take(self, wave, count, events):
        if count > 0:
            self.samples.append(np.ctypeslib.as_array(wave, (count,)).copy())
        at = 0
        while events[at].type != 0:
            event = events[at]
            if event.type == _WORD:
                self.events.append((_WORD, event.text_position, event.sample))
            elif event.type == _PHONEME:
                self.events.append((_PHONEME, event.id.string.decode("latin1"), event.sample))
            at += 1
        return 0


@functools.cache
def _espeak():
    espeak, heard = ctypes.CDLL("libespeak-ng.so.1"), _Heard()
    heard.rate_hz = espeak.espeak_Initialize(_SYNCHRONOUS, 0, None, _PHONEME_EVENTS)
    heard.callback = _Callback(heard.take)
    espeak.espeak_SetSynthCallback(heard.callback)
    espeak.espeak_SetVoiceByName.argtypes = [ctypes.c_char_p]
    espeak.espeak_Synth.argtypes = [
        ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint, ctypes.c_int,
        ctypes.c_uint, ctypes.c_uint, ctypes.c_void_p, ctypes.c_void_p,
    ]
    return espeak, heard

"""flite's voices: samples with the phones and words that they say."""

from training_kit import flite

from .utterance import Utterance, from_pieces, pieces_of

VOICES = ("slt", "rms", "awb", "kal16")


def speak(voice: str, text: str, stretch: float = 1.0) -> Utterance:
    """`stretch` above 1 is slower. Phones keep flite's own names."""
    samples, rate, segments = flite.speak(voice, text, stretch)
    return from_pieces(samples, rate, pieces_of(segments))

"""Festival's voices, many sentences a process: samples with the phones and words that they say."""

import pathlib
import subprocess
import tempfile

import numpy as np
from scipy.io import wavfile

from .utterance import Piece, Utterance, from_pieces

VOICES = {"ked": "voice_ked_diphone", "slt-hts": "voice_cmu_us_slt_arctic_hts"}

_HEADER = """
(define (make text stretch name)
  (Parameter.set 'Duration_Stretch stretch)
  (let ((u (eval (list 'Utterance 'Text text))))
    (utt.synth u)
    (utt.save.wave u (string-append name ".wav") 'riff)
    (utt.save.segs u (string-append name ".seg"))
    (utt.save.words u (string-append name ".words"))))
"""


def speak_all(voice: str, texts: list[str], stretches: list[float]) -> list[Utterance | None]:
    """One utterance a text; None where festival could not say it."""
    with tempfile.TemporaryDirectory() as folder:
        lines = [_HEADER, f"({VOICES[voice]})"]
        for at, (text, stretch) in enumerate(zip(texts, stretches)):
            lines.append(f'(unwind-protect (make "{text}" {stretch:.2f} "{folder}/{at}") nil)')
        script = pathlib.Path(folder) / "make.scm"
        script.write_text("\n".join(lines))
        subprocess.run(["festival", "-b", script], check=False, capture_output=True)
        return [_read(pathlib.Path(folder), at) for at in range(len(texts))]


def _read(folder: pathlib.Path, at: int) -> Utterance | None:
    if not (folder / f"{at}.words").exists():
        return None
    rate_hz, samples = wavfile.read(folder / f"{at}.wav")
    words = _rows(folder / f"{at}.words")
    pieces, start = [], 0.0
    for end, name in _rows(folder / f"{at}.seg"):
        middle = (start + end) / 2
        place = next((place for place, (until, _) in enumerate(words) if middle < until), None)
        silent = name == "pau" or place is None
        began = words[place - 1][0] if place else 0.0
        word = None if silent else words[place][1]
        opens = not silent and (not pieces or pieces[-1].word is None or pieces[-1].start < began - 1e-4)
        pieces.append(Piece(name, start, end, word, opens))
        start = end
    return from_pieces(samples.astype(np.float32) / 32768, rate_hz, pieces)


def _rows(path: pathlib.Path) -> list[tuple[float, str]]:
    rows = [line.split() for line in path.read_text().splitlines() if not line.startswith("#")]
    return [(float(row[0]), row[2]) for row in rows if len(row) == 3]

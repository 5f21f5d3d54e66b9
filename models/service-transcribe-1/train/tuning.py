"""What nothing is trained on and everything is chosen by: a speaker of Festival, people of Debian's tuxpaint-stamps."""

import functools
import json
import pathlib
import random
import re
import sys

import numpy as np

from . import festival_voice, texts
from .make_evaluation import write_case
from .phones import NUMBER_OF, label_pieces
from .recorded_corpus import phones_of
from .utterance import RATE_HZ, Piece, Utterance, decode

VOICE = "ked"
STAMPS = pathlib.Path("/usr/share/tuxpaint/stamps")
SEED = 77


@functools.cache
def speaker_cases(count: int) -> list[tuple[str, np.ndarray, list[int]]]:
    """Text, samples and phones of sentences by a voice that is in no training corpus."""
    pool = texts.speakable(texts.examples(), "tuning", 5, 14) + texts.speakable(texts.fortunes(), "tuning", 5, 14)
    chosen = random.Random(SEED).sample(pool, count)
    spoken = zip(chosen, festival_voice.speak_all(VOICE, chosen, [1.0] * count))
    cases = [(text, utterance.samples, _numbers(utterance.pieces)) for text, utterance in spoken if utterance]
    return [case for case in cases if case[2]]


@functools.cache
def people_cases() -> list[tuple[str, np.ndarray, list[int]]]:
    """Text, samples and flite's phones of the names of a drawing program's stamps, which are said without the article."""
    cases = []
    for path in sorted(STAMPS.rglob("*_desc.ogg")):
        written = path.with_name(path.name.replace("_desc.ogg", ".txt"))
        first = written.read_text("utf8", "replace").split("\n")[0] if written.exists() else ""
        if named := re.fullmatch(r"An? ([a-z]+)\W*", first):
            cases.append((named[1], _read(path), _numbers(phones_of(named[1]))))
    return cases


def _numbers(pieces: list[Piece]) -> list[int]:
    labelled = label_pieces(pieces) or []
    return [NUMBER_OF[phone] for phone, _, _ in labelled if NUMBER_OF[phone] > 0]


def _read(path: pathlib.Path) -> np.ndarray:
    # Silence on both sides, as a recorder would have left it.
    return np.pad(decode(path.read_bytes(), "ogg"), RATE_HZ // 4)


def write_cases(folder: pathlib.Path) -> None:
    """The same as an evaluation of a copy of the package: `natural` is the speaker, `real` are the people."""
    folder.mkdir(parents=True, exist_ok=True)
    kinds = (("natural", speaker_cases(40)), ("real", people_cases()))
    rows = [
        write_case(folder, f"{kind}-{at:02}", kind, kind, text, Utterance(samples, []))
        for kind, cases in kinds
        for at, (text, samples, _) in enumerate(cases)
    ]
    (folder / "cases.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


if __name__ == "__main__":
    write_cases(pathlib.Path(sys.argv[1]))

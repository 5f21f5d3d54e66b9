"""festival's HTS voice as a teacher: one process speaks many sentences."""

import pathlib
import re
import subprocess

import numpy as np
import soundfile

from .flite import Segment, Spoken

PREFACE = """
(voice_cmu_us_slt_arctic_hts)
(define (dump text file)
  (let ((u (utt.synth (eval (list 'Utterance 'Text text)))))
    (utt.save.wave u file 'riff)
    (format t "UTT %s\\n" file)
    (mapcar (lambda (f) (format t "%l\\n" f))
      (utt.features u 'Segment '(name segment_end R:SylStructure.parent.stress pos_in_syl
                                 R:SylStructure.parent.pos_in_word R:SylStructure.parent.parent.name)))
    t))
"""
LINE = re.compile(r'\("(\S+)" (\S+) (\S+) (\S+) (\S+) (.*)\)')


def speak_all(texts: list[str], folder: pathlib.Path) -> list[Spoken | None]:
    """The texts spoken; None where festival failed."""
    folder.mkdir(parents=True, exist_ok=True)
    waves = [folder / f"{index}.wav" for index in range(len(texts))]
    calls = [f'(dump "{text}" "{wave}")' for text, wave in zip(texts, waves)]
    (script := folder / "script.scm").write_text("\n".join([PREFACE, *calls]))
    done = subprocess.run(["festival", "-b", str(script)], capture_output=True, text=True)
    said = {}
    for block in done.stdout.split("UTT ")[1:]:
        path, *lines = block.splitlines()
        said[path] = [segment for line in lines if (segment := parse_segment(line))]
    spoken = []
    for wave in waves:
        if not wave.exists() or str(wave) not in said:
            spoken.append(None)
            continue
        samples, rate = soundfile.read(wave, dtype="float32")
        spoken.append(Spoken(said[str(wave)], np.asarray(samples), rate))
        wave.unlink()
    return spoken


def parse_segment(line: str) -> Segment | None:
    """A printed row of features."""
    if not (match := LINE.match(line)):
        return None
    name, end, stress, in_syllable, in_word, word = match.groups()
    is_sound = word.startswith('"')
    starts = is_sound and in_syllable == "0" and in_word == "0"
    return Segment(name, float(end), is_sound and stress == "1", starts, word.strip('"'))

"""Makes the held-out cases: other voices, other sentences, other templates, and real speech from Debian."""

import json
import pathlib
import random
import re
import subprocess
import wave

import numpy as np
import onnxruntime

from . import espeak_voice, flite_voice, texts
from .make_corpus import HELD_OUT_FLITE
from .utterance import RATE_HZ, Utterance

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "evaluation"
STARTER_VOICE = FOLDER.parent.parent / "service-voice-1" / "voice.onnx"
REAL = pathlib.Path("/usr/share/pocketsphinx/test/data")
SEED = 4242
LONG_SENTENCES = 14
KINDS = (("examples", 14), ("grammar", 10), ("fortunes", 6))
COMMANDS = {"goforward.raw": "go forward ten meters", "something.raw": "go somewhere and do something"}
BITRATE = "20k"


def make_evaluation(folder: pathlib.Path = FOLDER, seed: int = SEED) -> None:
    """Writes `cases.jsonl` and a sound for each of its lines; another seed makes cases to tune on."""
    folder.mkdir(exist_ok=True)
    for old in folder.glob("*.ogg"):
        old.unlink()
    source = random.Random(seed)
    recordings = [*spoken_cases(source), long_case(source), *real_cases(), *silent_cases(), *starter_cases(source)]
    rows = [write_case(folder, *recording) for recording in recordings]
    (folder / "cases.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    print(f"{len(rows)} cases, {sum(path.stat().st_size for path in folder.glob('*.ogg'))} bytes")


def sentences(source: random.Random) -> list[str]:
    """Held-out sentences of each kind, mixed."""
    pools = {
        "examples": texts.speakable(texts.examples(), "evaluation", 5, 14),
        "grammar": texts.speakable(texts.grammar_sentences(3000, source.randrange(1 << 30), held_out=True), "evaluation", 5, 14),
        "fortunes": texts.speakable(texts.fortunes(), "evaluation", 5, 14),
    }
    chosen = [text for kind, count in KINDS for text in source.sample(pools[kind], count)]
    source.shuffle(chosen)
    return chosen


def spoken_cases(source: random.Random):
    """One voice of each kind in turn, so that the first few cases have both."""
    variants = espeak_voice.HELD_OUT_VARIANTS
    for at, (text, other) in enumerate(zip(sentences(source), sentences(source))):
        spoken = flite_voice.speak(HELD_OUT_FLITE, text)
        yield (f"natural-{at:02}", "natural", f"flite {HELD_OUT_FLITE}", text, spoken)
        variant = variants[at % len(variants)]
        spoken = espeak_voice.speak(f"en-us+{variant}", other, source.randint(140, 190), source.randint(35, 65))
        yield (f"formant-{at:02}", "formant", f"espeak-ng {variant}", other, spoken)


def starter_cases(source: random.Random):
    """What service-voice-1 says, in its voices in turn."""
    layout = json.loads(STARTER_VOICE.with_suffix(".onnx.json").read_text())
    ids, voices = layout["phoneme_id_map"], list(layout["speaker_id_map"])
    session = onnxruntime.InferenceSession(STARTER_VOICE)
    for at, text in enumerate(sentences(source)):
        characters = [number for mark in f"^{text}.$" for number in [*ids[mark], *ids["_"]]][:-1]
        feeds = {
            "input": np.array([characters]),
            "input_lengths": np.array([len(characters)]),
            "scales": np.ones(3, np.float32),
            "sid": np.array([at % len(voices)]),
        }
        [sound] = session.run(None, feeds)
        voice = f"service-voice-1 {voices[at % len(voices)]}"
        yield (f"starter-{at:02}", "starter", voice, text, Utterance(sound.ravel(), []))


def long_case(source: random.Random):
    """Sentences in a row with pauses: longer than what the model hears at once."""
    read = sentences(source)[:LONG_SENTENCES]
    samples = []
    for text in read:
        pause = np.zeros(int(source.uniform(0.2, 1.2) * RATE_HZ))
        samples += [flite_voice.speak(HELD_OUT_FLITE, text).samples, pause]
    spoken = Utterance(np.concatenate(samples).astype(np.float32), [])
    return ("long-00", "long", f"flite {HELD_OUT_FLITE}", " ".join(read), spoken)


def real_cases():
    """Recordings of Debian's pocketsphinx-testdata: a LibriVox reader, and people who speak commands."""
    for folder, file in (("librivox", "transcription"), ("cards", "cards.transcription")):
        lines = (REAL / folder / file).read_text()
        for text, name in re.findall(r"<s> (.*?) +</s> +\((.*)\)", lines):
            with wave.open(str(REAL / folder / f"{name}.wav")) as sound:
                samples = np.frombuffer(sound.readframes(sound.getnframes()), np.int16)
            yield (f"real-{folder}-{name[-4:]}", "real", folder, text, Utterance(samples / 32768, []))
    for name, text in COMMANDS.items():
        samples = np.frombuffer((REAL / name).read_bytes(), np.int16)
        yield (f"real-{name[:-4]}", "real", "commands", text, Utterance(samples / 32768, []))


def silent_cases():
    """Sounds in which nobody speaks."""
    random_source, seconds = np.random.default_rng(SEED), 6
    time = np.arange(seconds * RATE_HZ) / RATE_HZ
    white = random_source.normal(0, 1, len(time))
    brown = np.cumsum(white)
    sounds = {
        "hiss": 0.02 * white,
        "rumble": 0.2 * (brown - brown.mean()) / np.abs(brown).max(),
        "tone": 0.2 * np.sin(2 * np.pi * 440 * time),
        "hum": 0.1 * sum(np.sin(2 * np.pi * 50 * part * time) / part for part in range(1, 12)),
        "clicks": np.where(np.arange(len(time)) % 5000 < 3, 0.5, 0.0) + 0.001 * white,
        "nothing": 0 * time,
    }
    for name, samples in sounds.items():
        yield (f"silent-{name}", "silent", name, "", Utterance(samples.astype(np.float32), []))


def write_case(folder: pathlib.Path, name: str, kind: str, voice: str, text: str, spoken: Utterance) -> dict:
    """Encodes the sound; word times are seconds from its start, where the synthesiser tells them."""
    samples = (np.clip(spoken.samples, -1, 1) * 32767).astype("<i2")
    command = ["ffmpeg", "-v", "error", "-y", "-f", "s16le", "-ar", str(RATE_HZ), "-ac", "1", "-i", "-"]
    command += ["-c:a", "libopus", "-b:a", BITRATE, "-application", "voip", "-fflags", "+bitexact"]
    subprocess.run([*command, folder / f"{name}.ogg"], input=samples.tobytes(), check=True)
    words = [word.lower() for word in texts.words_of(text)]
    starts = [round(piece.start, 3) for piece in spoken.pieces if piece.opens]
    row = {"set": kind, "file": f"{name}.ogg", "voice": voice, "text": " ".join(words)}
    return {**row, "starts": starts} if len(starts) == len(words) and words else row


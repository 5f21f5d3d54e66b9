"""Speaks the training sentences: one file of features and labels a voice."""

import collections
import json
import pathlib
import random
import time

import numpy as np

from . import espeak_voice, festival_voice, flite_voice, hts_voice, texts
from .mel import HOP, log_mel
from .phones import NUMBER_OF, label_pieces
from .rooms import Place
from .utterance import RATE_HZ, Utterance

HELD_OUT_FLITE = "rms"
"""A whole speaker that only the evaluation hears."""
MINUTES = {
    "flite-slt": 70, "flite-awb": 80, "flite-kal16": 60, "festival-slt-hts": 30, "espeak": 190,
    "drawn-1": 240, "drawn-2": 240, "drawn-3": 240,
}  # fmt: skip
SHARES = (("examples", 0.45), ("grammar", 0.2), ("definitions", 0.2), ("fortunes", 0.15))
FESTIVAL_BATCH = 60
ESPEAK_RUN = 8
"""Sentences in a row by one variant."""
DRAWN_RUN, DRAWN_SPEAKERS = 5, 4
"""Sentences in a row by one drawn speaker, and how many speakers say them."""
BABBLE_SECONDS = 120


def make_corpus(folder: pathlib.Path, scale: float) -> None:
    """Writes `corpus-<voice>.npz` for each voice that has none; `scale` multiplies the minutes."""
    for number, (voice, minutes) in enumerate(MINUTES.items()):
        path = folder / f"corpus-{voice}.npz"
        if path.exists():
            continue
        began = time.time()
        shard = Shard()
        for utterance in utterances(voice, sentences(seed=100 + number), random.Random(200 + number)):
            shard.add(utterance)
            if shard.seconds >= minutes * 60 * scale:
                break
        shard.save(path)
        print(f"corpus {voice}: {shard.seconds / 60:.0f} min in {time.time() - began:.0f} s", flush=True)


def sentences(seed: int):
    """Training sentences without end, by the shares of their kinds."""
    source = random.Random(seed)
    pools = {
        "examples": texts.speakable(texts.examples(), "training"),
        "definitions": texts.speakable(texts.definitions(), "training"),
        "fortunes": texts.speakable(texts.fortunes(), "training"),
        "grammar": texts.speakable(texts.grammar_sentences(6000, seed), "training"),
    }
    names, weights = zip(*SHARES)
    while True:
        yield source.choice(pools[source.choices(names, weights)[0]])


def utterances(voice: str, spoken, source: random.Random):
    """Spoken sentences of one voice, each at its own tempo and half of them at their own pitch."""
    engine, _, name = voice.partition("-")
    if engine == "espeak":
        yield from _espeak(spoken, source)
    elif engine == "drawn":
        yield from _drawn(spoken, np.random.default_rng(source.randrange(1 << 30)))
    elif engine == "flite":
        for text in spoken:
            yield shifted(flite_voice.speak(name, text, source.uniform(0.78, 1.25)), source)
    else:
        while True:
            batch = [next(spoken) for _ in range(FESTIVAL_BATCH)]
            stretches = [source.uniform(0.78, 1.25) for _ in batch]
            for utterance in festival_voice.speak_all(name, batch, stretches):
                if utterance is not None:
                    yield shifted(utterance, source)


def _espeak(spoken, source: random.Random):
    while True:
        variant = source.choice(espeak_voice.VARIANTS)
        rate, pitch = source.randint(125, 220), source.randint(20, 80)
        for _ in range(ESPEAK_RUN):
            yield espeak_voice.speak(f"en-us+{variant}", next(spoken), rate, pitch, source.randint(25, 75))


def _drawn(spoken, random: np.random.Generator):
    """Speakers that nobody recorded, most of them somewhere else than in a studio."""
    babble = np.zeros(0, np.float32)
    while True:
        run = [hts_voice.prepare(next(spoken)) for _ in range(DRAWN_RUN)]
        for _ in range(DRAWN_SPEAKERS):
            speaker = hts_voice.draw_speaker(random)
            place = Place(random, babble) if random.random() < 0.7 else None
            for sentence in run:
                utterance = hts_voice.speak(speaker, sentence, random)
                babble = np.concatenate((babble, utterance.samples))[-BABBLE_SECONDS * RATE_HZ :]
                if place is not None:
                    utterance.samples = place.heard(utterance.samples)
                yield utterance


def shifted(utterance: Utterance, source: random.Random) -> Utterance:
    """Half of the time played faster or slower, which moves pitch and formants too."""
    if source.random() < 0.5:
        return utterance
    factor = source.uniform(0.86, 1.16)
    places = np.arange(0, len(utterance.samples) - 1, factor)
    utterance.samples = np.interp(places, np.arange(len(utterance.samples)), utterance.samples).astype(np.float32)
    for piece in utterance.pieces:
        piece.start /= factor
        piece.end /= factor
    return utterance


class Shard:
    """Features and labels of one voice's sentences, one after the other."""

    def __init__(self):
        self.mels, self.phones, self.starts, self.frames = [], [], [], 0
        self.said = collections.defaultdict(collections.Counter)

    @property
    def seconds(self) -> float:
        """Length so far."""
        return self.frames * HOP / RATE_HZ

    def add(self, utterance: Utterance) -> None:
        """Leaves out what has unknown phones."""
        labelled = label_pieces(utterance.pieces)
        if not labelled:
            return
        frames = len(utterance.samples) // HOP // 3 * 3
        self.mels.append(log_mel(utterance.samples, frames).astype(np.float16))
        for phone, start, _ in labelled:
            self.phones.append(NUMBER_OF[phone])
            self.starts.append(self.frames + min(frames, round(start * RATE_HZ / HOP)))
        self.frames += frames
        self._tally(utterance)

    def _tally(self, utterance: Utterance) -> None:
        groups, word = [], None
        for piece in utterance.pieces:
            if piece.opens:
                groups.append((piece.word, []))
            if piece.word is not None and groups:
                groups[-1][1].append(piece)
        for word, pieces in groups:
            labelled = label_pieces(pieces)
            if labelled and word:
                self.said[word.lower()][" ".join(phone for phone, _, _ in labelled)] += 1

    def save(self, path: pathlib.Path) -> None:
        """Features as float16 log10 power [frames, 80]; phones with the frame at which each starts."""
        partial = path.with_suffix(".partial.npz")
        np.savez(
            partial,
            mel=np.concatenate(self.mels),
            phones=np.array(self.phones, np.uint8),
            starts=np.array(self.starts, np.int32),
        )
        path.with_suffix(".json").write_text(json.dumps(self.said))
        partial.rename(path)

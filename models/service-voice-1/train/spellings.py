"""What the reader learns from: texts whose every character has the sounds it stands for."""

import pathlib
import random
import re
import time

import numpy as np
from training_kit import flite

from . import texts
from .align import Aligner
from .numbers import random_number, read_number, read_ordinal
from .symbols import ASKING, BEGIN, CHARACTER_IDS, END, GOING_ON, PAUSE, SLOTS, SOUND_IDS, sound_id

Reading = list[tuple[str, tuple[tuple[int, bool], ...]]]
"""Characters, and of each its sounds with whether a word starts there."""
MARKS = {"%": "percent", "&": "and", "+": "plus"}
NATURAL, ASIDE_SHARE = 110000, 0.1
"""Sentences beside the single words, and the share of questions and lists in them."""
LISTED = 3
"""How often each single word is listed, each time among others."""
WITH_RUNS = 0.3
"""Of the sentences that get capitals or a number between two of their words."""
SAID_AS_WORDS = "NASA NATO AIDS OPEC UNICEF UNESCO FIFA RAM PIN SIM SWAT ZIP IKEA NASDAQ LASER RADAR OK".split()
PLURALS = {**dict.fromkeys("BCDGJKPQTVWZFLMNR", "z"), **dict.fromkeys("SXH", "ih z")}
"""Sounds of 's behind a letter's name."""


def pause_at(mark: str) -> tuple[tuple[int, bool], ...]:
    """The pause that a mark stands for, or the end behind it."""
    return ((SOUND_IDS[ASKING if mark == "?" else GOING_ON if mark in ",;:—" else PAUSE], False),)


def sounds_of(word: str) -> tuple[int, ...]:
    """Ids of a single word's sounds."""
    return tuple(sound_id(name.rstrip("012"), name.endswith("1")) for name in flite.pronounce(word))


def starting(sounds: tuple[int, ...]) -> tuple[tuple[int, bool], ...]:
    """A word's sounds, the first marked."""
    return tuple((sound, index == 0) for index, sound in enumerate(sounds))


def marked(word: str, said: list[tuple[int, ...]]) -> Reading:
    """A word's letters with their sounds, the word's first sound marked."""
    reading, is_first = [], True
    for letter, sounds in zip(word, said):
        reading.append((letter, tuple((sound, is_first and i == 0) for i, sound in enumerate(sounds))))
        is_first = is_first and not sounds
    return reading


class Speller:
    """Makes readings of words, numbers, letters and sentences."""

    def __init__(self, words: list[str], seed: int):
        self.source = random.Random(seed)
        self.words = [(word, sounds) for word in words if (sounds := sounds_of(word))]
        self.aligner = Aligner()
        self.aligner.fit(self.words[:9000])
        self.letters = {letter: self.letter_name(letter) for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"}

    def letter_name(self, letter: str) -> tuple[tuple[int, bool], ...]:
        """As in U-S-A."""
        said = [s for s in flite.read(f"U-{letter}-S") if s.name != PAUSE]
        places = [index for index, segment in enumerate(said) if segment.starts_word]
        name = said[places[1] : places[-1]]
        return starting(tuple(sound_id(s.name, s.stress == 1 or s.name == "ey") for s in name))

    def number(self) -> Reading:
        digits, words = random_number(self.source)
        joined = [tuple(pair for word in said for pair in starting(sounds_of(word))) for said in words]
        reading = list(zip(digits, joined))
        if self.source.random() < 0.1:
            mark = self.source.choice("%%&+")
            reading.append((mark, starting(sounds_of(MARKS[mark]))))
        return reading

    def letter_run(self) -> Reading:
        """Capitals that are spelled."""
        count = self.source.choice([1, 2, 2, 3, 3, 3, 4])
        between = self.source.random() < 0.4
        reading: Reading = []
        for letter in self.source.choices("ABCDEFGHIJKLMNOPQRSTUVWXYZ", k=count):
            if between and reading:
                reading.append(("-", ()))
            reading.append((letter, self.letters[letter]))
        if count > 1 and reading[-1][0] in PLURALS and self.source.random() < 0.15:
            last = tuple((sound_id(name, False), False) for name in PLURALS[reading[-1][0]].split())
            reading += [("'", ()), ("S", last)]
        return reading

    def known_capitals(self) -> Reading:
        """Capitals that are read as a word."""
        word = self.source.choice(SAID_AS_WORDS)
        said = self.aligner.align(word.lower(), sounds_of(word.lower()))
        return marked(word, said) if said else self.letter_run()

    def initials(self) -> Reading:
        """A name with letters between, or letters behind a number."""
        if self.source.random() < 0.4:
            return self.spaced([self.number_words(), self.letter_run()])
        name, family = (self.name() for _ in range(2))
        letters = self.letter_run() if self.source.random() < 0.5 else [self.letter()]
        return self.spaced([name, letters, family] if self.source.random() < 0.6 else [letters, family])

    def letter(self) -> tuple[str, tuple[tuple[int, bool], ...]]:
        """A single capital."""
        letter = self.source.choice("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
        return letter, self.letters[letter]

    def name(self) -> Reading:
        """A word as a name."""
        while True:
            word, sounds = self.source.choice(self.words)
            if len(word) > 2 and (said := self.aligner.align(word, sounds)):
                return marked(word.capitalize(), said)

    def number_words(self) -> Reading:
        """A small number in words, as the service puts it."""
        digits = str(self.source.randrange(1, 100))
        said_digits = read_number(digits) if self.source.random() < 0.7 else read_ordinal(digits)[1]
        words = [word for said in said_digits for word in said]
        parts = [marked(word, said) for word in words if (said := self.aligner.align(word, sounds_of(word)))]
        return self.spaced(parts)

    def spaced(self, parts: list[Reading]) -> Reading:
        """Parts with spaces between."""
        reading: Reading = []
        for part in parts:
            reading += [(" ", ()), *part] if reading else part
        return reading

    def run(self) -> Reading:
        """What is no plain word: numbers, capitals, initials."""
        kinds = (self.number, self.letter_run, self.initials, self.number_words, self.known_capitals)
        return self.source.choices(kinds, (6, 5, 3, 2, 1))[0]()

    def with_run(self, reading: Reading) -> Reading:
        """A sentence with one of these between two of its words."""
        spaces = [place for place, (character, _) in enumerate(reading) if character == " "]
        if not spaces:
            return reading
        place = self.source.choice(spaces)
        return [*reading[:place], (" ", ()), *self.run(), *reading[place:]]

    def word(self, word: str, sounds: tuple[int, ...]) -> Reading | None:
        said = self.aligner.align(word, sounds)
        if said is None:
            return None
        chance = self.source.random()
        shown = word.capitalize() if chance < 0.15 else word
        if chance > 0.98 and len(word) > 4:
            shown = word.upper()
        return marked(shown, said)

    def word_list(self, words: list[tuple[str, tuple[int, ...]]]) -> Reading:
        """Words that mean nothing together, with numbers and capitals between."""
        parts = [part for word in words if (part := self.word(*word))]
        for _ in words:
            if self.source.random() < 0.15:
                parts.append(self.run())
        self.source.shuffle(parts)
        return self.joined(parts)

    def joined(self, parts: list[Reading]) -> Reading:
        reading: Reading = [(BEGIN, pause_at(BEGIN))]
        for index, part in enumerate(parts):
            if index:
                if self.source.random() < 0.12:
                    mark = self.source.choice(",,,,;:.!?")
                    reading.append((mark, pause_at(mark)))
                elif self.source.random() < 0.03:
                    mark = self.source.choice("—…")
                    reading += [(" ", ()), (mark, pause_at(mark))]
                reading.append((" ", ()))
            reading += part
        if self.source.random() < 0.8:
            reading.append((self.source.choice("....!?"), ()))
        return [*reading, (END, pause_at(reading[-1][0]))]

    def sentence(self, text: str) -> Reading | None:
        """A natural sentence as flite reads it; None where its words cannot be told apart."""
        spoken: list[list] = []
        for segment in flite.read(text):
            if segment.name == PAUSE or (segment.starts_word and segment.text != "'s"):
                spoken.append([])
            spoken[-1].append(segment)
        pieces = re.findall(r"[A-Za-z']+|[ ,;:?!-]", text)
        queue = spoken[1:-1]
        reading: Reading = [(BEGIN, pause_at(BEGIN))]
        for piece in pieces:
            if not re.match(r"[A-Za-z]", piece):
                is_pause = bool(queue) and queue[0][0].name == PAUSE and piece in ",;:?!"
                reading.append((piece, pause_at(piece) if is_pause else ()))
                queue = queue[1:] if is_pause else queue
                continue
            if not queue or queue[0][0].name == PAUSE:
                return None
            said, queue = queue[0], queue[1:]
            if said[0].text.replace("'", "") != piece.lower().removesuffix("'s").replace("'", ""):
                return None
            sounds = tuple(sound_id(segment.name, segment.stress == 1) for segment in said)
            aligned = self.aligner.align(piece.lower(), sounds)
            if aligned is None:
                return None
            reading += marked(piece, aligned)
        if queue:
            return None
        if reading[-1][0].isalpha() and self.source.random() < 0.85:
            reading.append((".", ()))
        return [*reading, (END, pause_at(reading[-1][0]))]


def make_spellings(folder: pathlib.Path, words: int) -> None:
    """words: how many single ones. Writes characters, sounds and starts, and each text's length."""
    if (folder / "spellings.npz").exists():
        return
    started = time.time()
    speller = Speller(texts.words()[:words], 3)
    # The speaker has seen the first sentences; the reader takes them all, it knows other things of them.
    lines = texts.spoken_lines(4, 14, NATURAL, ASIDE_SHARE, 10)
    natural = [reading for text in lines if (reading := speller.sentence(text))]
    natural = [speller.with_run(r) if speller.source.random() < WITH_RUNS else r for r in natural]
    print(f"spellings: {len(natural)} sentences, {time.time() - started:.0f} s", flush=True)
    lists = []
    for _ in range(LISTED):
        speller.source.shuffle(speller.words)
        place = 0
        while place < len(speller.words):
            size = speller.source.randint(2, 8)
            lists.append(speller.word_list(speller.words[place : place + size]))
            place += size
    readings = [r for r in natural + lists if all(len(s) <= SLOTS for _, s in r)]
    speller.source.shuffle(readings)
    write_readings(folder / "spellings.npz", readings)
    print(f"spellings: {len(readings)} texts, {time.time() - started:.0f} s", flush=True)


def write_readings(path: pathlib.Path, readings: list[Reading]) -> None:
    """Arrays [characters], [characters, SLOTS] twice, [texts]."""
    total = sum(len(reading) for reading in readings)
    characters = np.zeros(total, np.uint8)
    sounds, starts = np.zeros((total, SLOTS), np.uint8), np.zeros((total, SLOTS), np.uint8)
    place = 0
    for reading in readings:
        for character, said in reading:
            characters[place] = CHARACTER_IDS[character]
            for slot, (sound, is_start) in enumerate(said):
                sounds[place, slot], starts[place, slot] = sound, is_start
            place += 1
    partial = path.with_suffix(".partial.npz")
    counts = np.array([len(reading) for reading in readings])
    np.savez(partial, characters=characters, sounds=sounds, starts=starts, counts=counts)
    partial.rename(path)

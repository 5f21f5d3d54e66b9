"""The teacher: composes whole pieces by rules, as the tokens that the networks learn to write."""

import dataclasses
import random

import numpy as np

from . import vocabulary as v
from .accompaniment import Bassist, Comper, PadPlayer
from .attributes import Attributes
from .drums import Kit
from .form import Section, make_form
from .harmony import section_chords, tonic_chord
from .melody import Melodist, harmony_below
from .vocabulary import chord_tones

HIGH_PLAYERS = {"flute": 12, "bells": 12, "harp": 4, "synth lead": 5}
SWING = {"jazz": 0.32, "lofi": 0.22, "bossa": 0.0}
PULSE = (
    ("comp 1", "comp"), ("bass", "bass"), ("lead", "lead"), ("counter", "counter"), ("kick", "drums"), ("pad 1", "pad"),
)  # fmt: skip
"""Who strikes a beat that nobody else does, the first that plays, with the track."""
FIRST_PITCHED = v.VOICE["bass"]
HOME = {"bass": 12}
LEVELS = {"soft": 0.5, "medium": 0.65, "strong": 0.8}


@dataclasses.dataclass
class Piece:
    """A composed piece."""

    attributes: Attributes
    plan: np.ndarray
    """[bars, 11] int64: PLAN_FIELDS."""
    tokens: np.ndarray
    """[bars x steps, 13] int64: a token of each voice."""
    velocities: np.ndarray
    """[bars x steps, 13] float32 in 0..1, where a note begins."""
    delays: np.ndarray
    """[bars x steps] float32: how late the step sounds, in steps."""


class Writer:
    """Collects notes of one piece."""

    def __init__(self, attributes: Attributes, bars: int, rng: random.Random) -> None:
        self.steps, self.rng = v.STEPS_PER_BEAT * attributes.meter, rng
        count = bars * self.steps
        self.tokens = np.zeros((count, len(v.VOICES)), np.int64)
        self.velocities = np.zeros((count, len(v.VOICES)), np.float32)
        self.level = LEVELS[attributes.energy]

    def note(self, voice: int, begin: int, length: int, pitch: int, velocity: float) -> None:
        """A note of a pitched voice, ended by a stop where nothing follows."""
        if begin >= len(self.tokens) or not 0 <= pitch < v.PITCHES:
            return
        self.tokens[begin, voice] = v.FIRST_PITCH + pitch
        self.velocities[begin, voice] = min(1.0, max(0.1, velocity))
        end = begin + length
        if end < len(self.tokens) and self.tokens[end, voice] == v.HELD:
            self.tokens[end, voice] = v.STOP

    def accent(self, step: int) -> float:
        """Louder on the first beat, softer between beats."""
        inside = step % self.steps
        return 0.1 if inside == 0 else 0.04 if inside % 4 == 0 else -0.05


def compose(attributes: Attributes, bars: int, rng: random.Random) -> Piece:
    """A piece of so many bars, the last one a held tonic chord."""
    writer = Writer(attributes, bars, rng)
    form = make_form(bars, rng)
    plan = np.zeros((bars, len(v.PLAN_FIELDS)), np.int64)
    players = Players(attributes, writer, rng)
    chords: list[tuple[int, int]] = []
    for section in form:
        if section.again:
            made = [chords[bar - section.again] for bar in range(section.start, section.start + section.bars)]
        elif section.kind == "end":
            made = [(tonic_chord(attributes.mode, attributes.genre),) * 2]
        else:
            made = section_chords(section.kind, section.bars, attributes.mode, attributes.genre, rng)
        chords += made
    active = {section.start: players.active(section, bars) for section in form}
    for section in form:
        fill_plan(plan, section, chords, active[section.start], attributes)
        players.play(section, chords, active[section.start])
    swing = SWING.get(attributes.genre, 0.0)
    delays = np.zeros(len(writer.tokens), np.float32)
    for step in range(len(delays)):
        delays[step] = 2 * swing if step % 4 == 2 and swing else swing if step % 2 and swing else 0.0
    return Piece(attributes, plan, writer.tokens, writer.velocities, delays)


def fill_plan(plan: np.ndarray, section: Section, chords: list[tuple[int, int]], active: set[str], attributes: Attributes) -> None:
    """Writes the bars of a section into the plan."""
    energy = v.ENERGIES.index(attributes.energy)
    lift = {"intro": -1, "b": 1, "c": 0}.get(section.kind, 0)
    for bar in range(section.start, section.start + section.bars):
        flags = [int(track in active) for track in v.TRACKS]
        plan[bar] = [
            v.SECTIONS.index(section.kind), v.REPEATS.index(section.again), *chords[bar], *flags,
            min(2, max(0, energy + lift)),
        ]  # fmt: skip


class Players:
    """The players of one piece, each with a manner of its own."""

    def __init__(self, attributes: Attributes, writer: Writer, rng: random.Random) -> None:
        self.attributes, self.writer, self.rng, self.steps = attributes, writer, rng, writer.steps
        self.energy = v.ENERGIES.index(attributes.energy)
        self.who = attributes.players
        lead, counter, comp = (self.who[track] for track in ("lead", "counter", "comp"))
        low = 8 + HIGH_PLAYERS.get(lead or "", 0)
        self.lead = Melodist(attributes.mode, low, low + 18, rng)
        low = 2 + HIGH_PLAYERS.get(counter or "", 0)
        self.counter = Melodist(attributes.mode, low, low + 16, rng)
        self.comp = Comper(comp or "piano", attributes.genre, self.steps, 12 + HIGH_PLAYERS.get(comp or "", 0), rng)
        self.pad = PadPlayer(self.steps, 9)
        self.bass = Bassist(attributes.genre, self.steps, self.energy, rng)
        self.kit = Kit(attributes.genre, attributes.meter, self.energy, rng)
        self.follows = rng.random() < 0.4

    def active(self, section: Section, bars: int) -> set[str]:
        """Tracks that play in a section."""
        present = {track for track, player in self.who.items() if player}
        if section.kind == "intro" and len(present) > 1:
            quiet = {"lead", "counter"} | ({"drums"} if self.rng.random() < 0.5 else set())
            return present - quiet or present
        if section.kind == "a" and section.start == 0 and bars > 16 and len(present) > 3:
            return present - {"counter"}
        return present

    def play(self, section: Section, chords: list[tuple[int, int]], active: set[str]) -> None:
        """Writes a section, anew or as it was."""
        first, last = section.start * self.steps, (section.start + section.bars) * self.steps
        if section.again:
            source = slice(first - section.again * self.steps, last - section.again * self.steps)
            self.writer.tokens[first:last] = self.writer.tokens[source]
            self.writer.velocities[first:last] = self.writer.velocities[source]
            return
        self.writer.tokens[first:last][self.writer.tokens[first:last] != v.STOP] = 0
        if section.kind == "end":
            self.finish(first, chords[section.start], active)
            return
        pairs = chords[section.start : section.start + section.bars]
        following = [*chords[section.start + 1 : section.start + section.bars + 1], chords[-1]]
        self.write_melodies(section, pairs, active)
        for bar, pair in enumerate(pairs):
            at = (section.start + bar) * self.steps
            self.write_chords(at, pair, active)
            if "bass" in active:
                for step, length, pitch in self.bass.bar(pair, following[bar][0]):
                    self.begin("bass", at + step, length, pitch, 0.12)
            if "drums" in active:
                for step, voice, velocity, token in self.kit.bar(bar == 0, bar == section.bars - 1 and section.bars > 2):
                    self.writer.tokens[at + step, voice] = token
                    self.writer.velocities[at + step, voice] = velocity * (0.7 + 0.15 * self.energy)
        for bar, pair in enumerate(pairs):
            self.keep_pulse((section.start + bar) * self.steps, pair, active)

    def keep_pulse(self, at: int, pair: tuple[int, int], active: set[str]) -> None:
        """Something is struck on every beat of a bar, so that the tempo is heard and no piece begins with silence."""
        keeper = next((name for name, track in PULSE if track in active), None)
        if keeper is None:
            return
        struck = [number for number, (_, track) in enumerate(v.VOICES) if track in active and (track != "pad" or active == {"pad"})]
        for step in range(0, self.steps, v.STEPS_PER_BEAT):
            tokens = self.writer.tokens[at + step]
            if any(tokens[number] >= (v.FIRST_PITCH if number >= FIRST_PITCHED else 1) for number in struck):
                continue
            if keeper == "kick":
                tokens[v.VOICE[keeper]], self.writer.velocities[at + step, v.VOICE[keeper]] = 1, 0.6
            else:
                self.strike(keeper, at + step, pair[0] if step < self.steps // 2 else pair[1])

    def strike(self, name: str, step: int, chord: int) -> None:
        """A note of the chord on a beat, until what the voice does next."""
        voice = v.VOICE[name]
        column = self.writer.tokens[:, voice]
        before = np.flatnonzero(column[:step] >= v.FIRST_PITCH)
        last = int(column[before[-1]]) - v.FIRST_PITCH if len(before) else HOME.get(name, 14)
        tones = chord_tones(chord)[: 1 if name == "bass" else 3]
        options = [pitch for pitch in range(max(0, last - 6), last + 7) if pitch % 12 in tones]
        pitch = min(options, key=lambda option: abs(option - last))
        following = np.flatnonzero(column[step + 1 : step + 5] != v.HELD)
        velocity = self.writer.level + self.writer.accent(step) - 0.04
        self.writer.note(voice, step, int(following[0]) + 1 if len(following) else 4, pitch, velocity)

    def write_melodies(self, section: Section, pairs: list[tuple[int, int]], active: set[str]) -> None:
        """Lead and counter, a phrase of four bars at a time."""
        for start in range(0, len(pairs), 4):
            phrase = pairs[start : start + 4]
            energy = self.attributes.energy
            lead = self.lead.phrase(phrase, self.steps, energy, start + 4 >= len(pairs))
            if self.follows:
                other = [harmony_below(notes, self.attributes.mode, 0) for notes in lead]
            else:
                other = self.counter.phrase(phrase, self.steps, "soft", False)
            for name, bars in (("lead", lead), ("counter", other)):
                if name not in active:
                    continue
                for bar, notes in enumerate(bars):
                    at = (section.start + start + bar) * self.steps
                    for step, length, pitch in notes:
                        self.begin(name, at + step, length, pitch, 0.12 if name == "lead" else 0.0)

    def write_chords(self, at: int, pair: tuple[int, int], active: set[str]) -> None:
        """Comp and pad of a bar; held pads are struck anew only when the chord changes."""
        if "comp" in active:
            for part, step, length, pitch in self.comp.bar(pair):
                self.begin(f"comp {part + 1}", at + step, length, pitch, -0.08)
        if "pad" in active:
            for part, step, length, pitch in self.pad.bar(pair):
                self.begin(f"pad {part + 1}", at + step, length, pitch, -0.15)

    def finish(self, at: int, pair: tuple[int, int], active: set[str]) -> None:
        """The last bar: everybody holds the tonic."""
        for name, track in v.VOICES[4:]:
            if track not in active:
                continue
            part = int(name[-1]) - 1 if name[-1].isdigit() else 0
            if track in ("comp", "pad"):
                source = self.comp if track == "comp" else self.pad
                if part == 0:
                    source.style = "block"
                    for which, _, _, pitch in source.bar(pair):
                        self.begin(f"{track} {which + 1}", at, 2 * self.steps, pitch, 0.05)
            else:
                home = 12 if track == "bass" else 12 * round(getattr(self, track).pitch / 12)
                self.begin(name, at, 2 * self.steps, home, 0.08)
        if "drums" in active:
            for voice in (0, 3):
                self.writer.tokens[at, voice], self.writer.velocities[at, voice] = 1, 0.8

    def begin(self, name: str, step: int, length: int, pitch: int, louder: float) -> None:
        """One note with the accent of its place."""
        velocity = self.writer.level + louder + self.writer.accent(step) + self.rng.uniform(-0.02, 0.02)
        self.writer.note(v.VOICE[name], step, length, pitch, velocity)

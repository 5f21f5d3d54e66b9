"""The teacher's orchestra as sound: notes by plain additive synthesis, mixes of them with rooms of their own.

Only the probe hears this; the model's synthesiser shares no arithmetic with it but the timbres' rules.
"""

import functools

import numpy as np
from scipy.signal import butter, fftconvolve, sosfilt

from . import vocabulary as v
from .piece import Piece
from .teacher_timbres import BAND_EDGES_HZ, FLOOR, TIMBRES, noise_levels, partial_layout, partial_levels

RATE_HZ, HELD_SECONDS, CONTROL = 22_050, 3.0, 220
FORCES = (0.5, 0.8)


@functools.cache
def held_note(sound: int, pitch: int, force: int) -> np.ndarray:
    """A note held for three seconds, float32; noise and phases differ from pitch to pitch."""
    name = v.SOUNDS[sound]
    rng = np.random.default_rng((sound, pitch, force))
    count = int(HELD_SECONDS * RATE_HZ)
    knots = np.arange(0, count + CONTROL, CONTROL)
    velocity, age = np.full(len(knots), FORCES[force]), knots / RATE_HZ
    timbre = TIMBRES[name]
    hertz = timbre.fixed_hz or 440 * 2 ** ((pitch - 69) / 12)
    levels = np.exp(partial_levels(name, np.full(len(knots), hertz), velocity, age, age * 0)) - np.exp(FLOOR)
    ratios, _, _ = partial_layout(name)
    time, wave = np.arange(count) / RATE_HZ, np.zeros(count)
    bend = timbre.vibrato * hertz * (1 - np.exp(-time / 0.4)) * np.sin(2 * np.pi * 5.5 * time) / (2 * np.pi * 5.5)
    for partial, ratio in enumerate(ratios):
        if hertz * ratio > 10_000 or levels[:, partial].max() < 1e-3:
            continue
        curve = np.interp(np.arange(count), knots, levels[:, partial])
        wave += curve * np.sin(2 * np.pi * (ratio * (hertz * time + bend) + rng.random()))
    return (wave + hiss(name, velocity, age, knots, count, rng)).astype(np.float32)


def hiss(
    name: str, velocity: np.ndarray, age: np.ndarray, knots: np.ndarray, count: int, rng: np.random.Generator
) -> np.ndarray:
    """The noise of a note, band by band."""
    levels = np.exp(noise_levels(name, velocity, age, age * 0)) - np.exp(FLOOR)
    wave = np.zeros(count)
    for band, (low, high) in enumerate(zip(BAND_EDGES_HZ[:-1], BAND_EDGES_HZ[1:], strict=True)):
        if levels[:, band].max() < 1e-3 or low > 10_000:
            continue
        shape = butter(2, [low, min(high, 10_900)], "bandpass", fs=RATE_HZ, output="sos")
        noise = sosfilt(shape, rng.standard_normal(count))
        wave += np.interp(np.arange(count), knots, levels[:, band]) * noise / (noise.std() + 1e-9)
    return wave


def notes_of(piece: Piece) -> list[tuple[int, int, float, float, float]]:
    """(sound, pitch, velocity, start and length in seconds) of a piece."""
    attributes = piece.attributes
    pace = 60 / attributes.bpm / v.STEPS_PER_BEAT
    found = []
    for number, (name, track) in enumerate(v.VOICES):
        player = attributes.players[track]
        begins = np.flatnonzero(piece.tokens[:, number] != v.HELD)
        if not player:
            continue
        for place, step in enumerate(begins):
            token, start = piece.tokens[step, number], (step + piece.delays[step]) * pace
            velocity = float(piece.velocities[step, number])
            if track == "drums":
                found.append((v.SOUNDS.index(v.DRUM_TOKENS[name][token - 1]), 60, velocity, start, HELD_SECONDS))
            elif token >= v.FIRST_PITCH:
                end = begins[place + 1] * pace if place + 1 < len(begins) else start + HELD_SECONDS
                pitch = v.LOWEST_NOTES[number] + v.shift_of(attributes.tonic) + int(token) - v.FIRST_PITCH
                found.append((v.SOUNDS.index(player), pitch, velocity, start, end - start))
    return found


def mix(piece: Piece, first: float, seconds: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Mono sound of a stretch of a piece, and the energy of each named instrument in it [15]."""
    count = int(seconds * RATE_HZ)
    stems = np.zeros((len(v.NAMED), count), np.float32)
    for sound, pitch, velocity, start, length in notes_of(piece):
        if start + length < first - 0.5 or start >= first + seconds:
            continue
        wave = held_note(sound, pitch, int(velocity > 0.65)) * velocity
        over = int(length * RATE_HZ)
        if over < len(wave):
            wave = wave.copy()
            wave[over:] *= np.exp(-np.arange(len(wave) - over) / RATE_HZ / TIMBRES[v.SOUNDS[sound]].release)
        at = int((start - first) * RATE_HZ)
        source, target = max(0, -at), max(0, at)
        size = min(len(wave) - source, count - target)
        if size > 0:
            stems[min(sound, len(v.NAMED) - 1), target : target + size] += wave[source : source + size]
    return room(stems.sum(0), rng), (stems**2).mean(1)


def room(dry: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Some hall, some tilt of the spectrum, some limiting."""
    time = np.arange(int(0.8 * RATE_HZ)) / RATE_HZ
    answer = rng.standard_normal(len(time)) * np.exp(-time * 6.9 / rng.uniform(0.3, 1.2))
    wet = fftconvolve(dry, answer / np.sqrt((answer**2).sum()))[: len(dry)] * rng.uniform(0.0, 0.45)
    sound = dry + wet
    tilted = sound + rng.uniform(-0.45, 0.45) * np.concatenate([[0], np.diff(sound)])
    return np.tanh(tilted / (tilted.std() * rng.uniform(3.5, 8) + 1e-9)).astype(np.float32)

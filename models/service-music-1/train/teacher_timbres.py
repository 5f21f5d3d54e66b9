"""The teacher's instruments: partials, their loudness over time, and noise, by rules of each family."""

import dataclasses

import numpy as np

from .vocabulary import SOUNDS

PARTIALS, BANDS = 40, 10
BAND_EDGES_HZ = [90, 180, 360, 720, 1400, 2600, 4600, 7400, 10500, 14500, 19500]
FLOOR = -9.0
"""Natural logarithm of what counts as silence."""


@dataclasses.dataclass(frozen=True)
class Timbre:
    """How an instrument sounds; times in seconds, levels in natural logarithms."""

    level: float = 0.0
    slope: float = 1.0
    """Partial h is as loud as h^-slope at middle C."""
    odd: float = 0.0
    """How much softer even partials are."""
    attack: float = 0.005
    decay: float = 0.0
    """Fall of the first partial a second at middle C; higher notes and partials fall faster."""
    partial_decay: float = 0.3
    release: float = 0.08
    bright: float = 1.2
    """How much flatter the slope is when played loud."""
    ratios: tuple[float, ...] = ()
    """Partials of bars and bells; harmonics where empty."""
    weights: tuple[float, ...] = ()
    stretch: float = 0.0
    """Inharmonicity of strings."""
    chorus: float = 0.0
    """Detuning of three voices, as a share of the pitch."""
    vibrato: float = 0.0
    """Depth as a share of the pitch, about 5.5 times a second."""
    breath: tuple[tuple[int, float], ...] = ()
    """Noise bands that last as long as the note, and their levels."""
    knock: tuple[tuple[int, float, float], ...] = ()
    """Noise bands of the attack: band, level, time in which it falls by e."""
    swell: float = 0.0
    """How much brighter a sustained note gets in its first half second."""
    formant: tuple[float, float] = (0.0, 0.0)
    """Frequency around which partials are louder, and by how much."""
    fixed_hz: float = 0.0
    """Drums have one pitch."""
    width: float = 0.3
    """How far partials are spread over the stereo field."""


TIMBRES: dict[str, Timbre] = {
    "piano": Timbre(0.25, 1.25, decay=1.1, partial_decay=0.22, release=0.07, stretch=0.0004, chorus=0.0006, knock=((1, -3.6, 0.02), (3, -4.2, 0.012), (5, -5.0, 0.008)), width=0.4),
    "guitar": Timbre(0.3, 1.1, attack=0.003, decay=1.6, partial_decay=0.6, release=0.06, stretch=0.0001, knock=((4, -4.0, 0.008), (6, -4.4, 0.006)), formant=(220.0, 0.5), width=0.2),
    "electric guitar": Timbre(-0.55, 0.45, attack=0.006, decay=0.25, partial_decay=0.05, release=0.05, odd=-0.2, formant=(1900.0, 0.7), bright=0.3, knock=((5, -4.4, 0.01),), breath=((6, -6.2),), width=0.25),
    "harp": Timbre(0.4, 1.9, attack=0.002, decay=1.3, partial_decay=1.0, release=0.35, knock=((3, -5.0, 0.006),), width=0.5),
    "strings": Timbre(0.0, 1.0, attack=0.14, partial_decay=0.0, release=0.2, chorus=0.0035, swell=0.3, formant=(1100.0, 0.4), breath=((7, -6.4),), bright=0.6, width=0.8),
    "flute": Timbre(0.45, 2.6, attack=0.06, partial_decay=0.0, release=0.08, vibrato=0.004, breath=((4, -5.0), (5, -4.7), (6, -5.2)), bright=0.8, width=0.1),
    "clarinet": Timbre(0.15, 1.1, odd=2.6, attack=0.04, partial_decay=0.0, release=0.06, formant=(1500.0, 0.4), breath=((5, -6.2),), bright=0.7, width=0.1),
    "trumpet": Timbre(-0.35, 0.55, attack=0.03, partial_decay=0.0, release=0.06, swell=0.5, vibrato=0.002, formant=(1300.0, 1.0), bright=1.3, width=0.1),
    "organ": Timbre(-0.1, 0.9, attack=0.012, partial_decay=0.0, release=0.05, ratios=(0.5, 1, 2, 3, 4, 6, 8), weights=(-0.5, 0.0, -0.3, -0.9, -0.6, -1.3, -1.0), bright=0.1, chorus=0.0008, width=0.4),
    "pad": Timbre(0.25, 1.7, attack=0.35, partial_decay=0.0, release=0.5, chorus=0.006, swell=0.6, bright=0.3, width=1.0),
    "synth lead": Timbre(-0.5, 0.75, attack=0.008, partial_decay=0.0, release=0.06, odd=0.0, chorus=0.0045, decay=0.0, bright=0.3, width=0.35),
    "bells": Timbre(0.0, 0.0, attack=0.001, decay=1.4, partial_decay=0.8, release=0.9, ratios=(1, 2.756, 5.404, 8.933, 0.5), weights=(0.0, -0.7, -1.4, -2.0, -2.5), bright=0.5, width=0.5),
    "marimba": Timbre(0.5, 0.0, attack=0.001, decay=4.0, partial_decay=1.6, release=0.25, ratios=(1, 3.93, 9.2), weights=(0.0, -1.2, -2.6), bright=0.6, knock=((2, -3.8, 0.012), (4, -4.6, 0.006)), width=0.3),
    "bass": Timbre(-0.05, 1.35, attack=0.006, decay=0.8, partial_decay=0.35, release=0.05, knock=((4, -5.2, 0.008),), bright=0.8, width=0.0),
    "kick": Timbre(1.0, 0.0, attack=0.001, decay=9.0, partial_decay=9.0, release=0.3, fixed_hz=52.0, ratios=(1, 1.5, 2.2, 3.2), weights=(0.0, 0.1, 0.1, -0.4), knock=((0, -3.4, 0.02), (4, -3.9, 0.005)), width=0.0),
    "snare": Timbre(-0.6, 0.0, attack=0.001, decay=16.0, partial_decay=4.0, release=0.2, fixed_hz=185.0, ratios=(1, 1.78, 2.4), weights=(0.0, -0.4, -1.2), knock=((2, -2.6, 0.05), (4, -2.4, 0.07), (5, -2.3, 0.08), (6, -2.2, 0.09), (7, -2.4, 0.08)), width=0.0),
    "closed hat": Timbre(-6.0, 0.0, fixed_hz=6000.0, decay=60.0, ratios=(1,), weights=(-3.0,), release=0.1, knock=((7, -3.0, 0.025), (8, -2.6, 0.03), (9, -2.9, 0.03)), width=0.0),
    "open hat": Timbre(-6.0, 0.0, fixed_hz=6000.0, decay=60.0, ratios=(1,), weights=(-3.0,), release=0.3, knock=((7, -3.2, 0.14), (8, -2.8, 0.18), (9, -3.0, 0.18)), width=0.0),
    "crash": Timbre(-6.0, 0.0, fixed_hz=5000.0, decay=30.0, ratios=(1,), weights=(-3.0,), release=0.9, knock=((5, -3.6, 0.4), (6, -3.3, 0.55), (7, -3.1, 0.6), (8, -3.2, 0.6), (9, -3.6, 0.5)), width=0.0),
    "shaker": Timbre(-6.0, 0.0, fixed_hz=6000.0, decay=60.0, ratios=(1,), weights=(-3.0,), release=0.1, knock=((6, -4.0, 0.03), (7, -3.4, 0.045), (8, -3.6, 0.04)), width=0.0),
}  # fmt: skip
COPIES = (0.0, 1.0, -1.0)


def partial_layout(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Ratio to the note's frequency, base log level and order of each of the 40 partials; silent ones at the floor."""
    timbre = TIMBRES[name]
    ratios, levels, orders = np.ones(PARTIALS), np.full(PARTIALS, 3 * FLOOR), np.zeros(PARTIALS)
    copies = COPIES if timbre.chorus else COPIES[:1]
    base = timbre.ratios or tuple(range(1, PARTIALS // len(copies) + 1))
    place = 0
    for number, ratio in enumerate(base):
        for copy in copies:
            if place == PARTIALS:
                return ratios, levels, orders
            own = timbre.weights[number] if timbre.weights else 0.0
            even = timbre.odd if not timbre.ratios and number % 2 == 1 else 0.0
            stretched = ratio * np.sqrt(1 + timbre.stretch * ratio**2)
            ratios[place] = stretched * (1 + copy * timbre.chorus * (0.7 + 0.6 * ((number * 7 + 3) % 5) / 4))
            levels[place] = timbre.level + own - even - 0.5 * np.log(len(copies))
            orders[place] = number + 1
            place += 1
    return ratios, levels, orders


def partial_levels(name: str, hertz: np.ndarray, velocity: np.ndarray, age: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Log levels [n, 40] at times since the onset and since the end of a note (0 while it lasts)."""
    timbre = TIMBRES[name]
    ratios, base, orders = partial_layout(name)
    order = np.maximum(1, orders)
    register = np.log2(hertz / 261.6)[:, None]
    slope = np.maximum(0.0, timbre.slope + 0.22 * register * (timbre.slope > 0)) - timbre.bright * 0.5 * (velocity[:, None] - 0.65)
    if timbre.swell:
        slope = slope + timbre.swell * np.exp(-age[:, None] / 0.2)
    level = base - slope * np.log(order)
    partial_hz = hertz[:, None] * ratios
    if timbre.formant[1]:
        level = level + timbre.formant[1] * np.exp(-(np.log2(partial_hz / timbre.formant[0]) ** 2) * 0.8)
    falls = timbre.decay * 2.0 ** (0.45 * register * (timbre.fixed_hz == 0)) * (1 + timbre.partial_decay * (order - 1))
    level = level - falls * age[:, None]
    with np.errstate(divide="ignore"):
        level = level + np.log(1 - np.exp(-age / (timbre.attack * 0.45 + 1e-4)) + 1e-9)[:, None]
    level = level - after[:, None] / timbre.release * 1.0
    level = level + 1.6 * np.log(np.maximum(velocity, 0.05))[:, None]
    level = np.where(partial_hz > 19_000, 3 * FLOOR, level)
    return np.maximum(level - 2.2, FLOOR)


def noise_levels(name: str, velocity: np.ndarray, age: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Log levels [n, 10] of the noise bands at the same times."""
    timbre = TIMBRES[name]
    power = np.full((len(age), BANDS), np.exp(2 * FLOOR))
    for band, level in timbre.breath:
        rise = 1 - np.exp(-age / timbre.attack)
        power[:, band] += np.exp(2 * (level - after / timbre.release)) * rise
    for band, level, time in timbre.knock:
        power[:, band] += np.exp(2 * (level - age / time))
    return np.maximum(0.5 * np.log(power) + 1.4 * np.log(np.maximum(velocity, 0.05))[:, None] - 0.2, FLOOR)


def stretch_of(name: str) -> float:
    """Seconds a note goes on after its end, until it is silent."""
    return min(2.5, 6.0 * TIMBRES[name].release)


assert list(TIMBRES) == SOUNDS

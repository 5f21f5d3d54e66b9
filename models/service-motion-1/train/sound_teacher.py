"""The sound world: what a scene's bed sounds like, as controls at 50 Hz.

Every sound is a function of the scene, the clock and the chance curves that the controller sees.
"""

import math

import numpy as np

from .sound_model import BAND_HZ, BANDS, CONTROL_HZ, CONTROLS, LUFS_STEP, MIDDLE_LUFS, OSCILLATORS, REFERENCE_HZ

BAND = BAND_HZ.numpy()
FLOOR = 1e-6
"""Power below which a band counts as silent."""


class Bed:
    """Powers of the noise bands [n, 24] and curves of the oscillators [n, 6] of one clip."""

    def __init__(self, chance: np.ndarray):
        """chance [n, 6]: mid and side curves, fast, medium and slow."""
        self.seconds = np.arange(len(chance)) / CONTROL_HZ
        self.fast, self.medium, self.slow = chance[:, 0], chance[:, 2], chance[:, 4]
        self.side = chance[:, 5]
        self.power = np.full((len(chance), BANDS), FLOOR)
        self.hertz = np.tile([3000.0, 3600.0, 4300.0, 220.0, 277.2, 329.6], (len(chance), 1))
        self.amplitude = np.zeros((len(chance), OSCILLATORS))
        self.lufs = MIDDLE_LUFS

    def noise(self, level_db: float, spectrum: np.ndarray, envelope=1.0) -> None:
        """Adds noise of a spectrum [24] or [n, 24] (power) times an envelope [n] (amplitude)."""
        envelope = np.broadcast_to(np.square(envelope), self.seconds.shape)
        self.power += 10 ** (level_db / 10) * spectrum * envelope[:, None]

    def tone(self, index: int, hertz, amplitude) -> None:
        """Sets one oscillator."""
        self.hertz[:, index], self.amplitude[:, index] = hertz, amplitude

    def controls(self) -> np.ndarray:
        """[n, 38] float32, as SoundController gives them."""
        values = np.zeros((len(self.seconds), CONTROLS), np.float32)
        values[:, :BANDS] = 0.5 * np.log(self.power)
        values[:, BANDS] = 0.12 * self.side
        values[:, BANDS + 1 : BANDS + 1 + OSCILLATORS] = np.log2(self.hertz / REFERENCE_HZ)
        values[:, BANDS + 1 + OSCILLATORS : -1] = self.amplitude
        values[:, -1] = (self.lufs - MIDDLE_LUFS) / LUFS_STEP
        return values


def make_bed(said: dict[str, str], chance: np.ndarray) -> np.ndarray:
    """Controls [n, 38] of what a caption says; attributes that it leaves open are silent."""
    bed = Bed(chance)
    bed.noise(-44, low_pass(600, 1.0))
    setting, subject, weather = (said.get(name) for name in ("setting", "subject", "weather"))
    night = said.get("time") == "night"
    SETTING_SOUNDS.get(setting, light_wind)(bed, night)
    WEATHER_SOUNDS.get(weather, lambda bed: None)(bed)
    if subject in SUBJECT_SOUNDS:
        SUBJECT_SOUNDS[subject](bed)
    elif setting not in ("space", "city") and weather in (None, "clear", "calm"):
        calm_chord(bed, night)
    bed.lufs = loudness_of(said)
    return bed.controls()


def loudness_of(said: dict[str, str]) -> float:
    """LUFS: of the place by day or night and weather, or of what is loud there."""
    quiet = SETTING_LUFS.get(said.get("setting"), -27) + WEATHER_GAIN.get(said.get("weather"), 0)
    quiet -= 2 if said.get("time") == "night" else 0
    loud = [LOUD_WEATHER.get(said.get("weather"), -60), LOUD_SUBJECTS.get(said.get("subject"), -60)]
    return max(quiet, *loud)


SETTING_LUFS = {"ocean": -25, "beach": -25, "city": -22, "mountains": -26, "desert": -26, "sky": -26, "space": -28}
WEATHER_GAIN = {"calm": -7, "fog": -3, "snow": -1}
LOUD_WEATHER = {"rain": -22, "storm": -18}
LOUD_SUBJECTS = {"car": -20, "rocket": -18, "boat": -26, "bird": -26}
"""LUFS; a calm is louder only by these subjects."""


def low_pass(hertz: float, order: float) -> np.ndarray:
    """Power [24] falling with the given order above a frequency."""
    return 1 / (1 + (BAND / hertz) ** (2 * order))


def band_pass(hertz, octaves: float) -> np.ndarray:
    """Power around a frequency (number or [n]): [24] or [n, 24]."""
    distance = np.log2(BAND / np.asarray(hertz)[..., None]) / octaves
    return np.exp(-(distance**2))


def waves(bed: Bed, night: bool) -> None:
    """Swell of seven seconds; its hiss comes late."""
    swell = 0.5 + 0.5 * np.sin(2 * math.pi * bed.seconds / 7 + 1.2 * bed.slow)
    late = 0.5 + 0.5 * np.sin(2 * math.pi * bed.seconds / 7 + 1.2 * bed.slow - 0.9)
    bed.noise(-16, low_pass(350, 1.0), 0.25 + swell**2)
    bed.noise(-26, band_pass(3500.0, 1.8), 0.1 + late**3)


def light_wind(bed: Bed, night: bool) -> None:
    """A breeze."""
    wind(bed, -30)


def strong_wind(bed: Bed, night: bool) -> None:
    """Open land or height."""
    wind(bed, -18)


def wind(bed: Bed, level_db: float) -> None:
    """Gusts move both strength and colour."""
    centre = 320 * 2 ** (0.5 * bed.slow.clip(-2, 2))
    bed.noise(level_db, band_pass(centre, 1.4), np.exp(0.45 * bed.slow + 0.25 * bed.medium))


def green_land(bed: Bed, night: bool) -> None:
    """Birds by day, crickets by night, a breeze always."""
    wind(bed, -30)
    crickets(bed) if night else birds(bed, 0.05)


def crickets(bed: Bed) -> None:
    """Eight pulses a second in groups."""
    pulse = np.clip(np.sin(2 * math.pi * 8 * bed.seconds), 0, 1)
    group = np.clip(0.5 + 1.5 * np.sin(2 * math.pi * 0.3 * bed.seconds + bed.slow), 0, 1)
    bed.tone(2, 4300, 0.035 * pulse * group)
    bed.noise(-42, band_pass(5000.0, 0.6), 0.5 + 0.5 * group)


def birds(bed: Bed, amplitude: float) -> None:
    """Calls on a grid of half seconds, where the medium curve is high."""
    share = (bed.seconds * 2) % 1
    calls = bed.medium > -0.1
    trill = 0.5 + 0.5 * np.sin(2 * math.pi * 8 * bed.seconds)
    envelope = np.sin(math.pi * share) * calls
    bed.tone(
        0, 3100 * 2 ** (0.35 * trill + 0.25 * bed.slow.clip(-2, 2)), amplitude * envelope * (0.3 + trill)
    )
    other = np.sin(math.pi * ((bed.seconds + 0.25) % 1)) ** 6 * (bed.medium < 0.3)
    bed.tone(1, 2300 * 2 ** (0.3 * np.sin(2 * math.pi * bed.seconds)), 0.7 * amplitude * other)


def street(bed: Bed, night: bool) -> None:
    """Distant traffic and a mains hum."""
    bed.noise(-18 if not night else -22, low_pass(280, 1.2), np.exp(0.25 * bed.slow))
    bed.noise(-36, band_pass(1500.0, 1.5))
    bed.tone(3, 110, 0.02)


def deep_space(bed: Bed, night: bool) -> None:
    """A drone of fifths that breathes."""
    breath = 0.5 + 0.5 * np.sin(2 * math.pi * bed.seconds / 7)
    for index, (hertz, amplitude) in enumerate(((82.4, 0.10), (123.5, 0.07), (164.8, 0.05))):
        bed.tone(3 + index, hertz, amplitude * (0.6 + 0.4 * (breath if index % 2 else 1 - breath)))
    bed.noise(-30, low_pass(200, 1.5), np.exp(0.3 * bed.slow))


def under_water(bed: Bed, night: bool) -> None:
    """A muffled rush, and bubbles."""
    bed.noise(-12, low_pass(220, 2.0), np.exp(0.2 * bed.slow))
    share = (bed.seconds * 4) % 1
    bubble = np.sin(math.pi * share) ** 2 * (bed.medium > 0.4)
    bed.tone(0, 420 * 2 ** (0.8 * share), 0.06 * bubble)


def rain(bed: Bed) -> None:
    """A broad hiss with some rumble."""
    bed.noise(-17, band_pass(4500.0, 2.2), np.exp(0.1 * bed.fast))
    bed.noise(-26, low_pass(300, 1.0))


def storm(bed: Bed) -> None:
    """Much rain in gusts, and a low rumble."""
    bed.noise(-12, band_pass(3800.0, 2.2), np.exp(0.15 * bed.fast + 0.2 * bed.slow))
    bed.noise(-14, low_pass(120, 1.2), np.exp(0.7 * bed.slow + 0.3 * bed.medium))
    wind(bed, -16)


def snow(bed: Bed) -> None:
    """A soft dull wind."""
    wind(bed, -24)


def fog(bed: Bed) -> None:
    """Stillness: a low distant tone of the air."""
    bed.noise(-30, low_pass(160, 1.5), np.exp(0.3 * bed.slow))


def engine(bed: Bed) -> None:
    """Three harmonics of a turning motor, and its noise."""
    hertz = 78 * 2 ** (0.18 * bed.slow.clip(-2, 2) + 0.1 * np.sin(2 * math.pi * bed.seconds / 7))
    for index, amplitude in enumerate((0.14, 0.09, 0.05)):
        bed.tone(
            3 + index, hertz * (index + 1), amplitude * (1 + 0.15 * np.sin(2 * math.pi * 12 * bed.seconds))
        )
    bed.noise(-20, low_pass(350, 1.2), 1 + 0.2 * bed.fast.clip(-2, 2))


def rocket(bed: Bed) -> None:
    """A roar."""
    bed.noise(-8, low_pass(180, 1.1), np.exp(0.12 * bed.fast))
    bed.noise(-20, band_pass(1100.0, 1.8), np.exp(0.2 * bed.fast))


def boat(bed: Bed) -> None:
    """Water lapping at the hull once a second."""
    lap = np.clip(np.sin(2 * math.pi * bed.seconds + bed.slow), 0, 1) ** 2
    bed.noise(-22, band_pass(700.0, 1.0), 0.1 + lap)


def calm_chord(bed: Bed, night: bool) -> None:
    """A soft triad, minor at night."""
    swell = 0.6 + 0.4 * np.sin(2 * math.pi * bed.seconds / 7)
    chord = (220.0, 261.6, 329.6) if night else (220.0, 277.2, 329.6)
    for index, hertz in enumerate(chord):
        bed.tone(3 + index, hertz, 0.03 * (swell if index % 2 else 1.2 - 0.4 * swell))


SETTING_SOUNDS = {
    "ocean": waves,
    "beach": waves,
    "meadow": green_land,
    "forest": green_land,
    "desert": strong_wind,
    "mountains": strong_wind,
    "snowfield": strong_wind,
    "sky": strong_wind,
    "city": street,
    "space": deep_space,
    "underwater": under_water,
}
WEATHER_SOUNDS = {"rain": rain, "storm": storm, "snow": snow, "fog": fog}
SUBJECT_SOUNDS = {"car": engine, "rocket": rocket, "boat": boat, "bird": lambda bed: birds(bed, 0.08)}

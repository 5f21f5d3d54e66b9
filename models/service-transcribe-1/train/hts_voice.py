"""Many throats from few: HTS voices of recorded speakers, mixed and moved, spoken by a small vocoder.

The voices are statistics of recordings (mean and variance of mel cepstra, pitch and duration in a context; Tokuda
et al. 2013), so a speaker can be drawn: between the known ones, with another throat, another tongue and other manners.
"""

import dataclasses
import functools

import numpy as np
from scipy.ndimage import gaussian_filter1d
from training_kit.hts_labels import make_labels
from training_kit.hts_voices import NAMES, ORDER, STATES, open_voice, smooth_path, warped_angles

from .phones import PHONES
from .utterance import RATE_HZ, Utterance, pieces_of

HOP = RATE_HZ // 200
_NUMBERS = {name: number for number, name in enumerate((*PHONES, "ax", "pau"))}
SPECTRUM = 512
"""Of the vocoder's frames, samples."""


@dataclasses.dataclass
class Speaker:
    """How somebody speaks; `mix` weighs the voices."""

    mix: np.ndarray
    throat: float = 1.0
    """Above 1 is shorter: formants lie higher by this factor."""
    pitch_hz: float | None = None
    range: float = 1.0
    stretch: float = 1.0
    clear: float = 1.15
    """Peaks of the spectrum, over those of the mean of many."""
    lax: float = 0.0
    """Frames of 5 ms over which the tongue's targets are smoothed."""
    loose: float = 0.0
    """Deviations drawn at each state, in the recordings' own standard deviations."""
    accent: np.ndarray | None = None
    """Each phone's own shift of the cepstrum."""
    breath: float = 0.0
    whispers: bool = False
    tilt: float = 0.0
    voiced_to_hz: float = 4500.0


def draw_speaker(random: np.random.Generator) -> Speaker:
    """Somebody new."""
    weights = random.dirichlet((0.6, 0.6, 0.6))
    if random.random() < 0.3:
        weights = weights * 1.5 - 1 / 6
    throat = float(np.exp(np.clip(random.normal(0, 0.1), -0.24, 0.24)))
    low = np.log(120) + 1.8 * np.log(throat) + (0.35 if weights[0] < 0.5 else 0) + random.normal(0, 0.25)
    spread = _leaf_spread()
    size = random.uniform(0, 0.45)
    return Speaker(
        weights,
        throat,
        float(np.exp(np.clip(low, np.log(65), np.log(380)))),
        range=float(np.exp(random.normal(0, 0.45))),
        stretch=float(np.exp(np.clip(random.normal(-0.03, 0.2), -0.5, 0.45))),
        clear=float(random.uniform(1.0, 1.4)),
        lax=float(random.choice((0, 0, 1, 2, 3)) * random.random()),
        loose=float(random.uniform(0.2, 0.9)),
        accent=random.normal(0, size, (len(_NUMBERS), ORDER)) * spread * (np.arange(ORDER) > 0),
        breath=float(random.random() ** 2),
        whispers=random.random() < 0.04,
        tilt=float(random.normal(0, 0.4)),
        voiced_to_hz=float(random.uniform(2500, 7000)),
    )


def prepare(text: str):
    """What all voices know of a sentence, for `speak`."""
    labels, phones = make_labels(text)
    return phones, [open_voice(name).look_up(labels) for name in NAMES]


def speak(speaker: Speaker, prepared, random: np.random.Generator) -> Utterance:
    """Phones keep flite's names."""
    phones, looked_up = prepared
    parts = list(zip(speaker.mix / speaker.mix.sum(), looked_up))
    duration, *streams = (_mixed(parts, what) for what in range(4))
    frames = np.exp(random.normal(0, 0.12, duration.shape)) * duration * speaker.stretch
    lengths = np.maximum(1, np.round(np.cumsum(frames.ravel())).astype(int))
    lengths = np.maximum(np.diff(lengths, prepend=0), 1)
    cepstrum, log_pitch, voiced = _trajectories(streams, lengths, phones, speaker, random)
    samples = _sound(cepstrum, _pitch(log_pitch, voiced, speaker, random), voiced, speaker, random)
    for phone, end in zip(phones, np.cumsum(lengths.reshape(-1, STATES).sum(1)) * HOP / RATE_HZ):
        phone.end = float(end)
    return Utterance(samples, pieces_of(phones))


def _mixed(parts, what: int) -> np.ndarray:
    mixed = sum(weight * looked[what] for weight, looked in parts)
    if what == 1:
        variances = sum(abs(weight) * looked[1][..., 1, :] for weight, looked in parts)
        mixed[..., 1, :] = np.maximum(variances, 1e-5)
    return mixed


def _trajectories(streams, lengths, phones, speaker: Speaker, random):
    spectra, pitches, voicing = streams
    means, variances = spectra[..., 0, :].copy(), spectra[..., 1, :]
    means[..., :ORDER] += speaker.loose * random.normal(0, 1, means[..., :ORDER].shape) * np.sqrt(variances[..., :ORDER])
    if speaker.accent is not None:
        means[..., :ORDER] += speaker.accent[[_NUMBERS[phone.name] for phone in phones]][:, None]
    means, variances = (part.reshape(-1, 3 * ORDER) for part in (means, variances))
    of_frame = np.repeat(np.arange(len(lengths)), lengths)
    cepstrum = smooth_path(means[of_frame], variances[of_frame])
    if speaker.lax > 0:
        cepstrum = gaussian_filter1d(cepstrum, speaker.lax, axis=0)
    centre = cepstrum.mean(0)
    scale = np.where(np.arange(ORDER) > 0, speaker.clear, 1.0)
    cepstrum = centre + (cepstrum - centre) * scale
    return cepstrum, pitches.ravel()[of_frame], voicing.ravel()[of_frame] > 0.5


def _pitch(log_pitch, voiced, speaker: Speaker, random) -> np.ndarray:
    """Hz at each frame."""
    if not voiced.any():
        return np.full(len(voiced), 100.0)
    places = np.flatnonzero(voiced)
    line = gaussian_filter1d(np.interp(np.arange(len(voiced)), places, log_pitch[places]), 4)
    centre = line[places].mean()
    wander = gaussian_filter1d(random.normal(0, 1, len(line)), 12) * 0.15
    middle = centre if speaker.pitch_hz is None else np.log(speaker.pitch_hz)
    return np.exp(np.clip(middle + (line - centre + wander) * speaker.range, np.log(50), np.log(500)))


def _sound(cepstrum, pitch, voiced, speaker: Speaker, random) -> np.ndarray:
    """Pulses and noise through the minimum-phase filter of each frame."""
    count = len(cepstrum)
    amplitude, phase = _axes(round(speaker.throat, 2))
    lines = np.linspace(0, 1, SPECTRUM // 2 + 1)
    envelope = np.exp(np.clip(cepstrum @ amplitude + speaker.tilt * (lines - 0.2), -20, 12) - 1j * (cepstrum @ phase))
    hertz = lines * RATE_HZ / 2
    noisy = 1 / (1 + np.exp(-(hertz - speaker.voiced_to_hz) / 600))
    noisy = np.sqrt(np.clip(noisy + 0.35 * speaker.breath * (0.2 + lines), 0, 1))
    noisy = np.where(voiced[:, None] & (not speaker.whispers), noisy, 1.0)
    pulses, noise = _pulses(np.repeat(pitch, HOP), random), random.normal(0, 1, count * HOP)
    window = np.hanning(2 * HOP + 1)[:-1]
    both = [_frames(wave, count) * window for wave in (pulses, noise)]
    spectra = [np.fft.rfft(frames, SPECTRUM, axis=1) for frames in both]
    frames = np.fft.irfft(envelope * (np.sqrt(1 - noisy**2) * spectra[0] + noisy * spectra[1]), axis=1)
    samples = np.zeros(count * HOP + SPECTRUM)
    for shift in range(0, SPECTRUM, HOP):
        part = frames[:, shift : shift + HOP]
        wide = np.zeros((count, HOP))
        wide[:, : part.shape[1]] = part
        samples[shift : shift + count * HOP] += wide.ravel()
    samples = samples[HOP : HOP + count * HOP]
    return (samples / (np.abs(samples).max() + 1e-9) * 0.6).astype(np.float32)


def _frames(wave: np.ndarray, count: int) -> np.ndarray:
    padded = np.concatenate((np.zeros(HOP), wave, np.zeros(HOP)))
    return np.lib.stride_tricks.sliding_window_view(padded, 2 * HOP)[: count * HOP : HOP]


def _pulses(pitch: np.ndarray, random) -> np.ndarray:
    """A pulse a period, of power 1, each a little early or late."""
    phase = np.cumsum(pitch / RATE_HZ)
    at = np.flatnonzero(np.diff(np.floor(phase)) > 0)
    wave = np.zeros(len(pitch))
    late = np.clip(random.normal(0.5, 0.15, len(at)) + 1 - (phase[at + 1] % 1) / (pitch[at] / RATE_HZ), 0, 1)
    height = np.sqrt(RATE_HZ / pitch[at]) * np.exp(random.normal(0, 0.06, len(at)))
    wave[at] += height * (1 - late)
    wave[at + 1] += height * late
    return wave


@functools.lru_cache(128)
def _axes(throat: float) -> tuple[np.ndarray, np.ndarray]:
    """[order, lines] of cosines and of sines on the warped axis, for a throat shorter by the factor."""
    hertz = np.linspace(0, RATE_HZ / 2, SPECTRUM // 2 + 1) / throat
    angles = warped_angles(hertz)
    return np.cos(angles), np.sin(angles)


@functools.cache
def _leaf_spread() -> np.ndarray:
    return np.mean([open_voice(name).spread for name in NAMES], 0)

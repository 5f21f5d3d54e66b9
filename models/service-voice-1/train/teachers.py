"""The teachers: two speakers of CMU ARCTIC as HTS voices have them, whose frames the vocoder plays as they are, and
flite's voice rms, whose sound is analysed."""

import numpy as np
from scipy.ndimage import gaussian_filter1d
from training_kit import flite
from training_kit.flite import Segment
from training_kit.hts_labels import make_labels
from training_kit.hts_voices import FRAME_SECONDS, STATES, open_voice, smooth_path, warped_angles

from .analysis import VOICING, analyse, cepstral_projection, smooth_pitch
from .vocoder import BINS, RATE

VOICES = ("clb", "rms", "bdl")
"""Speakers in the order of their ids."""
FLITE_VOICE = "rms"
CLEAR = 1.2
"""Peaks of the spectrum over those of the mean of many."""
PITCH_FRAMES = 4
"""Over which the pitch of the states is smoothed."""
FULL_SCALE = np.log(32768)
"""The recordings were of 16 bits."""


def speak(voice: str, text: str) -> tuple[list[Segment], np.ndarray]:
    """A text spoken: its sounds with their ends, and frames of 5 ms [frames, 31]."""
    if voice == FLITE_VOICE:
        samples, rate, segments = flite.speak(voice, text)
        return segments, analyse(samples, rate)
    labels, segments = make_labels(text)
    durations, spectra, pitches, voiced = open_voice(voice).look_up(labels)
    lengths = np.diff(np.round(np.cumsum(durations.ravel())).astype(int), prepend=0).clip(1)
    owners = np.repeat(np.arange(len(lengths)), lengths)
    means, variances = (spectra[..., kind, :].reshape(len(lengths), -1)[owners] for kind in range(2))
    cepstra = smooth_path(means, variances)
    cepstra[:, 1:] = cepstra[:, 1:].mean(0) + (cepstra[:, 1:] - cepstra[:, 1:].mean(0)) * CLEAR
    amplitudes = cepstra @ np.cos(warped_angles(np.linspace(0, RATE / 2, BINS)))
    cepstra = amplitudes @ cepstral_projection(BINS)
    cepstra[:, 0] -= FULL_SCALE
    is_voiced = voiced.ravel()[owners] > 0.5
    pitch = gaussian_filter1d(smooth_pitch(np.exp(pitches.ravel()[owners]), is_voiced), PITCH_FRAMES, axis=0)
    for segment, end in zip(segments, np.cumsum(lengths.reshape(-1, STATES).sum(1)) * FRAME_SECONDS):
        segment.end = float(end)
    return segments, np.concatenate([pitch, VOICING * is_voiced[:, None], cepstra], 1).astype(np.float32)

"""How much livelier the teachers are than what the speaker makes of their texts, and what is done about it.

An absolute error draws frames towards their median. The ratio of deviations, measured on utterances
that were not trained on, is put back into the numbers that frames are unscaled with: no weights change.
"""

import pathlib

import numpy as np
import torch

from .analysis import FRAME
from .teachers import VOICES
from .speaker import Speaker
from .symbols import PAUSE_IDS
from .train_speaker import HELD, Speech

STYLES = {
    "clb": {"pitch": 0.0, "power": 1.0, "contrast": 1.0},
    "rms": {"pitch": 0.0, "power": 1.0, "contrast": 1.0},
    "bdl": {"pitch": 0.0, "power": 1.0, "contrast": 1.0},
}
"""Of each voice: log pitch added, power of the ratios, spread of the loudness. Chosen by DNSMOS on sentences
that are neither trained on nor held out."""
MOST = 1.8
PITCH, LEVEL = 0, 6
"""Places in a frame; between pitch and level lie the voicing bands."""


@torch.no_grad()
def measure_spread(folder: pathlib.Path, speaker: Speaker) -> tuple[torch.Tensor, torch.Tensor]:
    """Ratios of deviations, and means of what is made [voices, FRAME], outside of pauses."""
    data = Speech(folder)
    batch = data.batch(np.arange(HELD))
    voice, owners = batch["voice"], batch["owners"]
    hidden, _ = speaker.encode(batch["sounds"], batch["starts"], voice, batch["mask"])
    spread = torch.gather(hidden, 1, owners[:, :, None].expand(-1, -1, hidden.shape[2]))
    decoded = speaker.decode(spread, batch["places"], voice, batch["frame_mask"])
    made = speaker.unscale(decoded, voice)
    said = batch["frames"].reshape(len(made), -1, FRAME)
    is_pause = torch.isin(torch.gather(batch["sounds"], 1, owners), torch.tensor(PAUSE_IDS))
    sounding = (~is_pause & (batch["frame_mask"] > 0)).repeat_interleave(2, 1)
    ratios, means = torch.ones(len(VOICES), FRAME), torch.zeros(len(VOICES), FRAME)
    for number in range(len(VOICES)):
        own = sounding & (voice == number)[:, None]
        ratios[number] = said[own].std(0) / made[own].std(0)
        means[number] = made[own].mean(0)
    return ratios, means


def enliven(speaker: Speaker, ratios: torch.Tensor, means: torch.Tensor) -> None:
    """Spreads each voice's frames about their means, and sets its style."""
    for number, voice in enumerate(VOICES):
        style = STYLES[voice]
        ratio = ratios[number].clamp(1, MOST) ** style["power"]
        ratio[PITCH + 1 : LEVEL] = 1
        ratio[LEVEL] = style["contrast"]
        centre = means[number]
        speaker.mean[number] = centre + (speaker.mean[number] - centre) * ratio
        speaker.deviation[number] *= ratio
        speaker.mean[number, PITCH] += style["pitch"]

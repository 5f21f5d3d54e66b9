"""The judge of instruments: a small convolutional network over log bands of a few seconds."""

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from .teacher_audio import RATE_HZ
from .vocabulary import NAMED

FRAME, HOP, BANDS, FRAMES = 1024, 512, 72, 256
LOWEST_HZ, HIGHEST_HZ = 50.0, 10_000.0
SECONDS = ((FRAMES - 1) * HOP + FRAME) / RATE_HZ
RANGE = 8.0


def band_weights() -> np.ndarray:
    """[72, 513]: triangles on a logarithmic scale, at least two lines wide."""
    hertz = np.arange(FRAME // 2 + 1) * RATE_HZ / FRAME
    edges = LOWEST_HZ * (HIGHEST_HZ / LOWEST_HZ) ** (np.arange(BANDS + 2) / (BANDS + 1))
    rows = []
    for low, centre, high in zip(edges[:-2], edges[1:-1], edges[2:], strict=True):
        reach = max(high - centre, RATE_HZ / FRAME), max(centre - low, RATE_HZ / FRAME)
        rows.append(np.clip(np.minimum(1 - (hertz - centre) / reach[0], 1 - (centre - hertz) / reach[1]), 0, None))
    return np.stack(rows)


def features(sound: np.ndarray) -> np.ndarray:
    """Mono at 22 050 Hz -> [72, 256]: natural logarithms of band powers below the loudest, from -1 to 0."""
    frames = np.lib.stride_tricks.sliding_window_view(sound, FRAME)[::HOP][:FRAMES]
    window = np.hanning(FRAME + 1)[:-1]
    power = np.abs(np.fft.rfft(frames * window)) ** 2
    bands = power @ band_weights().T
    level = np.log(bands + 1e-12)
    return np.clip((level - level.max()) / (2 * RANGE), -1, 0).T.astype(np.float32)


class Probe(nn.Module):
    """[B, 72, 256] -> logits [B, 15] that an instrument is heard."""

    def __init__(self) -> None:
        super().__init__()
        widths = (2, 16, 32, 64, 80)
        self.layers = nn.ModuleList(
            [nn.Conv2d(a, b, (5, 3) if at < 2 else 3, (2, 2) if at else (1, 2), (2, 1) if at < 2 else 1) for at, (a, b) in enumerate(zip(widths[:-1], widths[1:], strict=True))]
        )
        self.norms = nn.ModuleList([nn.BatchNorm2d(width) for width in widths[1:]])
        self.head = nn.Sequential(nn.Linear(3 * widths[-1], 96), nn.GELU(), nn.Linear(96, len(NAMED)))
        self.register_buffer("height", torch.linspace(-1, 1, BANDS)[None, None, :, None])

    def forward(self, bands: torch.Tensor) -> torch.Tensor:
        """Bands as `features` gives them."""
        hidden = (bands * 3 + 1)[:, None]
        hidden = torch.cat([hidden, self.height + torch.zeros_like(hidden)], 1)
        for layer, norm in zip(self.layers, self.norms, strict=True):
            hidden = F.relu(norm(layer(hidden)))
        rows = hidden.mean(2)
        pooled = torch.cat([rows.mean(2), rows.amax(2), hidden.amax((2, 3))], 1)
        return self.head(pooled)

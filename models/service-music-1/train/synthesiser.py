"""Notes -> stereo sound, a window at a time: partials by products with a fixed basis, noise by fixed bands.

A window is 256 blocks of 128 samples. Around each block's begin lie 256 samples under a triangle, in
which a partial is one sinusoid; neighbours overlap, so levels and phases go over into each other.
"""

import math

import torch
from torch import nn
from torch.nn import functional as F

from .teacher_timbres import BAND_EDGES_HZ, BANDS, FLOOR, PARTIALS, TIMBRES, partial_layout
from .timbres import Timbres, hertz_of
from .vocabulary import SOUNDS

RATE_HZ = 44_100
BLOCK, BLOCKS = 128, 256
WINDOW = BLOCK * BLOCKS
TAPS = 255
"""Of the band filters; the noise is longer than the window by 254 samples."""
VIBRATO_HZ = 5.5
HIGHEST_HZ = 19_500


class Synthesiser(nn.Module):
    """Sound of the notes that a window holds; where the windows lie changes nothing."""

    def __init__(self, timbres: Timbres) -> None:
        super().__init__()
        self.timbres = timbres
        layouts = [partial_layout(name) for name in SOUNDS]
        generator = torch.Generator().manual_seed(7)
        shape = (len(SOUNDS), PARTIALS)
        self.register_buffer("ratios", torch.stack([torch.from_numpy(layout[0]).float() for layout in layouts]))
        self.register_buffer("starts", torch.rand(shape, generator=generator) * 0.25)
        spread = torch.tensor([TIMBRES[name].width for name in SOUNDS])[:, None]
        self.register_buffer("sides", (torch.rand(shape, generator=generator) * 2 - 1) * spread * 0.7)
        tuning = torch.tensor([[TIMBRES[name].vibrato, TIMBRES[name].fixed_hz] for name in SOUNDS])
        self.register_buffer("tuning", tuning)
        self.register_buffer("filters", band_filters())
        place = torch.arange(-BLOCK, BLOCK).float()
        self.register_buffer("place", place / RATE_HZ)
        self.register_buffer("triangle", 1 - place.abs() / BLOCK)

    def forward(
        self,
        sound: torch.Tensor,
        pitch: torch.Tensor,
        velocity: torch.Tensor,
        age: torch.Tensor,
        length: torch.Tensor,
        pan: torch.Tensor,
        noise: torch.Tensor,
    ) -> torch.Tensor:
        """All [N] (sound int64; age and length in seconds, age at the window's begin), noise [2, W + 254] -> [2, W]."""
        times = age[:, None].double() + torch.arange(BLOCKS + 1).double() * (BLOCK / RATE_HZ)
        own = times.float()
        sounding = (own >= 0).float()
        since, after = own.clamp(min=0), (own - length[:, None]).clamp(min=0)
        partials, bands = self.timbres(sound, pitch, velocity, since, after)
        fixed = self.tuning[sound, 1]
        hertz = torch.where(fixed > 0, fixed, hertz_of(pitch))
        tonal = self.tones(sound, hertz, times, audible(partials) * sounding[:, :, None], pan)
        return tonal + self.noises(audible(bands) * sounding[:, :, None], pan, noise)

    def tones(
        self, sound: torch.Tensor, hertz: torch.Tensor, times: torch.Tensor, levels: torch.Tensor, pan: torch.Tensor
    ) -> torch.Tensor:
        """Levels [N, 257, 40] -> [2, W]."""
        partial_hz = hertz[:, None] * self.ratios[sound]
        levels = levels * (partial_hz < HIGHEST_HZ).float()[:, None]
        swing = self.tuning[sound, 0] * hertz / (2 * math.pi * VIBRATO_HZ)
        onset = (1 - torch.exp(-times.float().clamp(min=0) / 0.4)) * torch.sin(2 * math.pi * VIBRATO_HZ * times.float())
        cycles = partial_hz.double()[:, None] * times[:, :, None]
        cycles = cycles + (self.ratios[sound][:, None] * (swing[:, None] * onset)[:, :, None]).double()
        phase = 2 * math.pi * ((cycles - torch.floor(cycles)).float() + self.starts[sound][:, None])
        side = (pan[:, None] + self.sides[sound]).clamp(-1, 1)
        gains = torch.stack([torch.sqrt(0.5 * (1 - side)), torch.sqrt(0.5 * (1 + side))])[:, :, None]
        loud = levels[None] * gains
        rows = torch.stack([loud * torch.sin(phase), loud * torch.cos(phase)], 4)
        turn = 2 * math.pi * partial_hz[:, :, None] * self.place
        basis = torch.stack([torch.cos(turn), torch.sin(turn)], 2) * self.triangle
        rows = rows.permute(0, 2, 1, 3, 4).reshape(2 * (BLOCKS + 1), -1)
        pieces = rows @ basis.reshape(-1, 2 * BLOCK)
        pieces = pieces.reshape(2, BLOCKS + 1, 2 * BLOCK)
        joined = pieces[:, :-1, BLOCK:] + pieces[:, 1:, :BLOCK]
        return joined.reshape(2, WINDOW)

    def noises(self, levels: torch.Tensor, pan: torch.Tensor, noise: torch.Tensor) -> torch.Tensor:
        """Levels [N, 257, 10] -> [2, W]; the notes' powers add up."""
        side = pan.clamp(-1, 1)
        gains = torch.stack([0.5 * (1 - side), 0.5 * (1 + side)])[:, :, None, None]
        power = (levels.pow(2)[None] * gains).sum(1).sqrt()
        share = (torch.arange(BLOCK) + 0.0) / BLOCK
        steps = power[:, :-1, None] * (1 - share)[:, None] + power[:, 1:, None] * share[:, None]
        curves = steps.reshape(2, WINDOW, BANDS)
        heard = F.conv1d(noise[:, None], self.filters)
        return (heard * curves.transpose(1, 2)).sum(1)


def audible(levels: torch.Tensor) -> torch.Tensor:
    """Logarithms -> amplitudes; the floor is silence."""
    return torch.exp(levels.clamp(FLOOR, 1.5)) - math.exp(FLOOR)


def band_filters() -> torch.Tensor:
    """[10, 1, 255]: windowed band passes that give white noise of unit variance unit variance again."""
    place = torch.arange(TAPS).double() - TAPS // 2
    window = torch.hann_window(TAPS + 2, periodic=False, dtype=torch.float64)[1:-1]
    rows = []
    for low, high in zip(BAND_EDGES_HZ[:-1], BAND_EDGES_HZ[1:], strict=True):
        kernel = 2 * high / RATE_HZ * torch.sinc(2 * high / RATE_HZ * place)
        kernel = (kernel - 2 * low / RATE_HZ * torch.sinc(2 * low / RATE_HZ * place)) * window
        rows.append(kernel / kernel.pow(2).sum().sqrt())
    return torch.stack(rows)[:, None].float()

"""The room and the limiter: dry stereo -> the piece's sound. The hall is heard at a quarter of the rate."""

import math

import torch
from torch import nn
from torch.nn import functional as F

from .synthesiser import RATE_HZ

QUARTER, PHASES = 4, 64
TAIL = 8192
"""Samples of the impulse response at a quarter of the rate: 0.74 s."""
CONTEXT = QUARTER * (TAIL + PHASES) + 256
"""Dry samples before a window that the hall still answers to."""
WET = 0.3
CEILING = 0.79
"""Largest sample, about -2 dBFS: lossy encoders overshoot."""
TAPS = 65


class Room(nn.Module):
    """Early echoes and a hall that gets darker, then a limiter that leaves soft sound as it is."""

    def __init__(self, seed: int = 3) -> None:
        super().__init__()
        self.register_buffer("tail", hall(seed))
        kernel = lowpass()
        self.register_buffer("down", kernel[None, None])
        self.register_buffer("up", (kernel * QUARTER)[None, None])
        self.register_buffer("lags", (TAIL // PHASES - torch.arange(TAIL // PHASES + 1)) * PHASES)
        self.register_buffer("steps", torch.arange(PHASES))

    def forward(self, dry: torch.Tensor, gain: torch.Tensor) -> torch.Tensor:
        """dry [2, 33280 + W], W a multiple of 256, gain [1] -> [2, W]."""
        small = F.conv1d(F.pad(dry[:, None], (TAPS - 1, 0)), self.down, stride=QUARTER)
        phases = small.reshape(2, -1, PHASES).transpose(1, 2)
        wet = torch.cat([F.conv1d(phases[side : side + 1], kernel) for side, kernel in enumerate(self.kernels())])
        wet = wet.transpose(1, 2).reshape(2, 1, -1)
        wide = F.conv_transpose1d(wet, self.up, stride=QUARTER)[:, 0]
        count = dry.shape[1] - CONTEXT
        wet_part = wide[:, -(count + TAPS - QUARTER) : -(TAPS - QUARTER)]
        return limit((dry[:, CONTEXT:] + WET * wet_part) * gain)

    def kernels(self) -> torch.Tensor:
        """The response as a convolution over blocks of 64: [2, 64, 64, 129]."""
        index = self.lags + self.steps[:, None, None] - self.steps[None, :, None]
        padded = F.pad(self.tail, (PHASES, PHASES))
        return padded[:, index + PHASES]


def limit(sound: torch.Tensor) -> torch.Tensor:
    """The same below half the ceiling, then bent towards it."""
    knee = CEILING / 2
    over = (sound.abs() - knee).clamp(min=0)
    bent = knee + (CEILING - knee) * torch.tanh(over / (CEILING - knee))
    return torch.where(sound.abs() > knee, torch.sign(sound) * bent, sound)


def hall(seed: int) -> torch.Tensor:
    """[2, 8192] at a quarter of the rate: a few early echoes, then noise that falls by 60 dB in 0.9 s."""
    generator = torch.Generator().manual_seed(seed)
    time = torch.arange(TAIL) / (RATE_HZ / QUARTER)
    noise = torch.randn(2, TAIL, generator=generator)
    dull = F.conv1d(F.pad(noise[:, None], (2, 2)), torch.tensor([[[0.1, 0.2, 0.4, 0.2, 0.1]]]))[:, 0]
    share = torch.exp(-time / 0.15)
    tail = (noise * share + dull * (1 - share)) * torch.exp(-6.9 * time / 0.9) * (1 - torch.exp(-time / 0.02))
    tail = tail * torch.cos(0.5 * math.pi * ((time - 0.6) / (time[-1] - 0.6)).clamp(min=0)) ** 2
    for _ in range(10):
        at = int(torch.randint(60, 700, (1,), generator=generator))
        tail[:, at] += torch.randn(2, generator=generator) * 2.0
    return tail / tail.pow(2).sum(1, keepdim=True).sqrt()


def lowpass() -> torch.Tensor:
    """[65]: passes below 4.6 kHz."""
    place = torch.arange(TAPS).double() - TAPS // 2
    cut = 2 * 4600 / RATE_HZ
    kernel = cut * torch.sinc(cut * place) * torch.hann_window(TAPS + 2, periodic=False, dtype=torch.float64)[1:-1]
    return (kernel / kernel.sum()).float()

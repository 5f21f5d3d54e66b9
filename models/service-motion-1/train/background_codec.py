"""The background codec: a principal-component basis of 16x16-pixel cells of four key frames."""

import torch
from torch import nn
from torch.nn import functional as F

from .shapes import BACKGROUND_CHANNELS, CELL, GRID_HEIGHT, GRID_WIDTH, KEYFRAMES_PER_LATENT


class BackgroundCodec(nn.Module):
    """Linear in both directions; latents have equal fourth roots of variance, mean square 1."""

    def __init__(self):
        super().__init__()
        size = 3 * KEYFRAMES_PER_LATENT * CELL * CELL
        self.register_buffer("mean", torch.zeros(size))
        self.register_buffer("basis", torch.zeros(size, BACKGROUND_CHANNELS))
        self.register_buffer("gain", torch.ones(BACKGROUND_CHANNELS))

    @staticmethod
    def from_components(mean, basis, variance) -> "BackgroundCodec":
        """mean [3072], orthonormal basis [3072, >= 48], variance [>= 48] of the components."""
        codec = BackgroundCodec()
        codec.mean.copy_(mean)
        codec.basis.copy_(basis[:, :BACKGROUND_CHANNELS])
        codec.gain.copy_(latent_gain(variance[:BACKGROUND_CHANNELS]))
        return codec

    def encode(self, keyframes: torch.Tensor) -> torch.Tensor:
        """Four key frames [N, 12, 96, 160] in -1..1 (time-major RGB) -> tokens [N, 60, 48]."""
        weight = (self.basis * self.gain).T.reshape(BACKGROUND_CHANNELS, -1, CELL, CELL)
        bias = -(self.mean @ (self.basis * self.gain))
        return F.conv2d(keyframes, weight, bias, stride=CELL).flatten(2).transpose(1, 2)

    def decode(self, tokens: torch.Tensor) -> torch.Tensor:
        """Tokens [N, 60, 48] -> key frames [N, 4, 3, 96, 160]."""
        cells = (tokens / self.gain) @ self.basis.T + self.mean
        grid = cells.transpose(1, 2).reshape(-1, cells.shape[2], GRID_HEIGHT, GRID_WIDTH)
        frames = F.pixel_shuffle(grid, CELL)
        return frames.reshape(-1, KEYFRAMES_PER_LATENT, 3, *frames.shape[2:])


def latent_gain(variance: torch.Tensor) -> torch.Tensor:
    """Gain that turns standard deviations s into sqrt(s) / rms(sqrt(s)): flat, but not white."""
    deviation = variance.sqrt()
    target = deviation.sqrt()
    return target / target.pow(2).mean().sqrt() / deviation

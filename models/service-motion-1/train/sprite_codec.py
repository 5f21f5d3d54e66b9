"""The subject codec: a principal-component basis of four RGBA phases of the subject."""

import torch
from torch import nn

from .codec import latent_gain
from .shapes import SPRITE_CHANNELS, SPRITE_SIDE

SIZE = 4 * 4 * SPRITE_SIDE * SPRITE_SIDE


class SpriteCodec(nn.Module):
    """Four premultiplied RGBA phases of 128x128 <-> 64 numbers, linear in both directions."""

    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(SIZE, dtype=torch.float16))
        self.register_buffer("basis", torch.zeros(SIZE, SPRITE_CHANNELS, dtype=torch.float16))
        self.register_buffer("gain", torch.ones(SPRITE_CHANNELS))

    @staticmethod
    def from_components(mean, basis, variance) -> "SpriteCodec":
        """mean [262144], orthonormal basis [262144, 64], variance [64]."""
        codec = SpriteCodec()
        codec.mean.copy_(mean)
        codec.basis.copy_(basis)
        codec.gain.copy_(latent_gain(variance))
        return codec

    def encode(self, phases: torch.Tensor) -> torch.Tensor:
        """phases [N, 262144] in 0..1 -> latents [N, 64]."""
        return ((phases - self.mean.float()) @ self.basis.float()) * self.gain

    def decode(self, latents: torch.Tensor) -> torch.Tensor:
        """latents [N, 64] -> phases [4 N, 4, 128, 128]."""
        flat = (latents / self.gain) @ self.basis.float().T + self.mean.float()
        return flat.reshape(-1, 4, SPRITE_SIDE, SPRITE_SIDE)

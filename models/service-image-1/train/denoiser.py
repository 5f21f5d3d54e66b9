"""The denoiser: a residual network over the latent vector of a still."""

import torch
from motion.denoiser import FlowNetwork
from torch import nn

from .shapes import CHANNELS

FRAME_WAVES = 4


class StillDenoiser(nn.Module):
    """Velocity of the rectified flow; the frame's shape is one of the things that it depends on."""

    def __init__(self):
        super().__init__()
        self.network = FlowNetwork(CHANNELS, traits=2 * FRAME_WAVES)
        self.register_buffer("frame_frequencies", 2.0 ** torch.arange(FRAME_WAVES))

    def forward(self, sample, timestep, encoder_hidden_states, time_ids):
        """sample [B, 379, 1, 1], timestep [B] in 0..1 (1 = noise), slots [B, 8, 48], time_ids [B, 6]
        (height and width in pixels first) -> velocity [B, 379, 1, 1]."""
        aspect = (time_ids[:, 1] / time_ids[:, 0]).log()
        flat = self.velocity(sample.flatten(1), timestep, encoder_hidden_states, aspect)
        return flat[:, :, None, None]

    def velocity(self, sample, timestep, slots, aspect):
        """sample [B, 379], aspect [B]: log of width over height -> [B, 379]."""
        wave = aspect[:, None] * self.frame_frequencies
        return self.network(sample, timestep, slots, torch.cat([wave.sin(), wave.cos()], 1))

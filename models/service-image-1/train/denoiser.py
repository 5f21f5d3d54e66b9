"""The denoiser: a residual network over the latent vector of a still."""

import torch
from motion.shapes import SLOT_WIDTH, SLOTS
from torch import nn
from torch.nn import functional as F

from .shapes import CHANNELS

TIME_WAVES, FRAME_WAVES = 32, 4


class StillDenoiser(nn.Module):
    """Velocity of the rectified flow.

    A still is one vector whose parts all depend on each other, so that plain layers over the whole
    vector learn faster than attention between its parts.
    """

    def __init__(self, width: int = 432, hidden: int = 864, depth: int = 5, condition: int = 192):
        super().__init__()
        self.width = width
        self.take = nn.Linear(CHANNELS, width)
        seen = SLOTS * SLOT_WIDTH + 2 * TIME_WAVES + 2 * FRAME_WAVES
        self.condition = nn.Sequential(
            nn.Linear(seen, 2 * condition), nn.SiLU(), nn.Linear(2 * condition, condition), nn.SiLU()
        )
        self.blocks = nn.ModuleList([Block(width, hidden, condition) for _ in range(depth)])
        self.final_modulation = nn.Linear(condition, 2 * width)
        self.give = nn.Linear(width, CHANNELS)
        zero(self.final_modulation)
        nn.init.normal_(self.give.weight, std=0.01)
        nn.init.zeros_(self.give.bias)
        exponent = torch.arange(TIME_WAVES) / TIME_WAVES
        self.register_buffer("time_frequencies", 10 * torch.exp(-6.9 * exponent))
        self.register_buffer("frame_frequencies", 2.0 ** torch.arange(FRAME_WAVES))

    def forward(self, sample, timestep, encoder_hidden_states, time_ids):
        """sample [B, 379, 1, 1], timestep [B] in 0..1 (1 = noise), slots [B, 8, 48], time_ids [B, 6]
        (height and width in pixels first) -> velocity [B, 379, 1, 1]."""
        aspect = (time_ids[:, 1] / time_ids[:, 0]).log()
        flat = self.velocity(sample.flatten(1), timestep, encoder_hidden_states, aspect)
        return flat[:, :, None, None]

    def velocity(self, sample, timestep, slots, aspect):
        """sample [B, 379], aspect [B]: log of width over height -> [B, 379]."""
        share = timestep[:, None]
        spread = (1 - share).square() + share.square()
        waves = [timestep[:, None] * self.time_frequencies, aspect[:, None] * self.frame_frequencies]
        seen = [slots.flatten(1), *[f(wave) for wave in waves for f in (torch.sin, torch.cos)]]
        condition = self.condition(torch.cat(seen, 1))
        hidden = self.take(sample * spread.rsqrt())
        for block in self.blocks:
            hidden = block(hidden, condition)
        scale, shift = self.final_modulation(condition).chunk(2, -1)
        guess = self.give(F.layer_norm(hidden, (self.width,)) * (1 + scale) + shift)
        return sample * (2 * share - 1) / spread - guess * spread.rsqrt()


class Block(nn.Module):
    """A feed-forward layer that the condition scales, shifts and gates."""

    def __init__(self, width: int, hidden: int, condition: int):
        super().__init__()
        self.width = width
        self.modulation = nn.Linear(condition, 3 * width)
        self.expand = nn.Linear(width, hidden)
        self.contract = nn.Linear(hidden, width)
        nn.init.normal_(self.modulation.weight, std=0.02)
        nn.init.zeros_(self.modulation.bias)
        with torch.no_grad():
            self.modulation.bias[2 * width :] = 0.5

    def forward(self, hidden, condition):
        """hidden [B, width], condition [B, condition]."""
        scale, shift, gate = self.modulation(condition).chunk(3, -1)
        inner = F.layer_norm(hidden, (self.width,)) * (1 + scale) + shift
        return hidden + gate * self.contract(F.gelu(self.expand(inner), approximate="tanh"))


def zero(layer):
    """Zero weight and bias, in place."""
    nn.init.zeros_(layer.weight)
    nn.init.zeros_(layer.bias)

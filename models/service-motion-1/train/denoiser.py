"""The denoiser: a residual network over all numbers of a clip as one vector."""

import math

import torch
from torch import nn
from torch.nn import functional as F

from .shapes import CHANNELS, MOTION_CHANNELS, SLOT_WIDTH, SLOTS, STILL_TOKENS, TOKENS, token_width

TIME_WAVES = 32


class FlowNetwork(nn.Module):
    """Velocity of a rectified flow over one vector.

    The parts of a scene all depend on each other, so that plain layers over the whole vector learn faster than
    attention between its parts.
    """

    def __init__(self, channels: int, traits: int = 0, width: int = 432, depth: int = 5, condition: int = 192):
        """traits: how many numbers beside the prompt the flow depends on."""
        super().__init__()
        self.width = width
        self.take = nn.Linear(channels, width)
        seen = SLOTS * SLOT_WIDTH + 2 * TIME_WAVES + traits
        self.condition = nn.Sequential(
            nn.Linear(seen, 2 * condition), nn.SiLU(), nn.Linear(2 * condition, condition), nn.SiLU()
        )
        self.blocks = nn.ModuleList([Block(width, 2 * width, condition) for _ in range(depth)])
        self.final_modulation = nn.Linear(condition, 2 * width)
        self.give = nn.Linear(width, channels)
        nn.init.zeros_(self.final_modulation.weight)
        nn.init.zeros_(self.final_modulation.bias)
        nn.init.normal_(self.give.weight, std=0.01)
        nn.init.zeros_(self.give.bias)
        exponent = torch.arange(TIME_WAVES) / TIME_WAVES
        self.register_buffer("time_frequencies", 10 * torch.exp(-math.log(1000.0) * exponent))

    def forward(self, sample, timestep, slots, traits=None):
        """sample [B, n], timestep [B] in 0..1 (1 = noise), slots [B, 8, 48], traits [B, k] -> [B, n]."""
        share = timestep[:, None]
        spread = (1 - share).square() + share.square()
        wave = share * self.time_frequencies
        seen = [slots.flatten(1), wave.sin(), wave.cos(), *([] if traits is None else [traits])]
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


class Denoiser(nn.Module):
    """Velocity of the tokens of a clip.

    A path does not depend on the clip's length, so neither does anything here: only 14 tokens are read, and of
    them only what is used.
    """

    def __init__(self):
        super().__init__()
        used = used_channels().flatten()
        self.network = FlowNetwork(int(used.sum()))
        self.register_buffer("places", used.nonzero()[:, 0], persistent=False)
        self.register_buffer("back", torch.where(used, used.cumsum(0) - 1, int(used.sum())), persistent=False)

    def forward(self, sample, timestep, encoder_hidden_states):
        """sample [B, 13 + T, 64], timestep [B] in 0..1 (1 = noise), slots [B, 8, 48] -> velocity."""
        vector = sample[:, :TOKENS].flatten(1)[:, self.places]
        found = self.network(vector, timestep, encoder_hidden_states)
        padded = torch.cat([found, torch.zeros_like(found[:, :1])], 1)
        tokens = padded[:, self.back].reshape(-1, TOKENS, CHANNELS)
        return torch.cat([tokens, torch.zeros_like(sample[:, TOKENS:])], 1)


def used_channels() -> torch.Tensor:
    """[14, 64] bool: where a token has a number; the last row is a motion token's."""
    widths = [token_width(names) for names in STILL_TOKENS] + [MOTION_CHANNELS]
    return torch.arange(CHANNELS)[None] < torch.tensor(widths)[:, None]

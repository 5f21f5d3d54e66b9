"""The denoiser: a diffusion transformer over the still tokens and the motion token of a clip."""

import math

import torch
from torch import nn
from torch.nn import functional as F

from .shapes import CHANNELS, MOTION_CHANNELS, SLOT_WIDTH, SLOTS, STILL_TOKENS, TOKENS, token_width


class Denoiser(nn.Module):
    """Velocity of the rectified flow. Latents are [B, 13 + T, 64]; unused channels are zero.

    A path does not depend on the clip's length, so neither does anything here: only 14 tokens are read.
    """

    def __init__(self, width: int = 160, depth: int = 6, heads: int = 5):
        super().__init__()
        self.width = width
        self.token_in = nn.Parameter(torch.randn(TOKENS, CHANNELS, width) * CHANNELS**-0.5)
        self.token_position = nn.Parameter(torch.randn(1, TOKENS, width) * 0.3)
        self.timestep_embed = two_layers(128, width, width)
        self.prompt_embed = two_layers(SLOTS * SLOT_WIDTH, 2 * width, width)
        self.slot_in = nn.Linear(SLOT_WIDTH, width)
        self.slot_position = nn.Parameter(torch.randn(1, SLOTS, width) * 0.3)
        self.blocks = nn.ModuleList([Block(width, heads) for _ in range(depth)])
        self.final_modulation = nn.Linear(width, 2 * width)
        self.token_out = nn.Parameter(torch.randn(TOKENS, width, CHANNELS) * 0.01)
        zero(self.final_modulation)
        exponent = torch.arange(64) / 64
        self.register_buffer("timestep_frequencies", 10 * torch.exp(-math.log(1000.0) * exponent))
        self.register_buffer("mask", used_channels())

    def forward(self, sample, timestep, encoder_hidden_states):
        """sample [B, 13 + T, 64], timestep [B] in 0..1 (1 = noise), slots [B, 8, 48] -> velocity."""
        share = timestep[:, None, None]
        spread = (1 - share).square() + share.square()
        steep = sample[:, :TOKENS] * spread.rsqrt()
        guess = self._network(steep, timestep, encoder_hidden_states) * self.mask
        guess = torch.cat([guess, torch.zeros_like(sample[:, TOKENS:])], 1)
        return sample * (2 * share - 1) / spread - guess * spread.rsqrt()

    def _network(self, sample, timestep, slots):
        angle = timestep[:, None] * self.timestep_frequencies[None]
        condition = self.timestep_embed(torch.cat([angle.sin(), angle.cos()], 1))
        condition = condition + self.prompt_embed(slots.flatten(1))
        hidden = torch.matmul(sample.transpose(0, 1), self.token_in).transpose(0, 1) + self.token_position
        extra = self.slot_in(slots) + self.slot_position
        for block in self.blocks:
            hidden = block(hidden, condition, extra)
        scale, shift = self.final_modulation(condition)[:, None].chunk(2, -1)
        hidden = F.layer_norm(hidden, (self.width,)) * (1 + scale) + shift
        return torch.matmul(hidden.transpose(0, 1), self.token_out).transpose(0, 1)


class Block(nn.Module):
    """Attention (with the prompt's slots as extra keys), then a feed-forward layer."""

    def __init__(self, width: int, heads: int, expansion: int = 3):
        super().__init__()
        self.width, self.heads = width, heads
        self.query_key_value = nn.Linear(width, 3 * width)
        self.slot_key_value = nn.Linear(width, 2 * width)
        self.out = nn.Linear(width, width)
        self.expand = nn.Linear(width, expansion * width)
        self.contract = nn.Linear(expansion * width, width)
        self.modulation = nn.Linear(width, 6 * width)
        zero(self.modulation)
        with torch.no_grad():  # open both gates a little, so that training starts at once
            self.modulation.bias[2 * width : 3 * width] = 0.5
            self.modulation.bias[5 * width :] = 0.5

    def forward(self, hidden, condition, slots):
        """hidden [B, L, width], condition [B, width], slots [B, 8, width]."""
        parts = self.modulation(F.silu(condition))[:, None].chunk(6, -1)
        scale, shift, gate, scale_2, shift_2, gate_2 = parts
        inner = F.layer_norm(hidden, (self.width,)) * (1 + scale) + shift
        hidden = hidden + gate * self._attend(inner, slots)
        inner = F.layer_norm(hidden, (self.width,)) * (1 + scale_2) + shift_2
        return hidden + gate_2 * self.contract(F.gelu(self.expand(inner), approximate="tanh"))

    def _attend(self, hidden, slots):
        batch, length, _ = hidden.shape
        query, key, value = self.query_key_value(hidden).chunk(3, 2)
        extra_key, extra_value = self.slot_key_value(slots).chunk(2, 2)
        key, value = torch.cat([key, extra_key], 1), torch.cat([value, extra_value], 1)
        query, key, value = (
            item.reshape(batch, -1, self.heads, self.width // self.heads).transpose(1, 2)
            for item in (query, key, value)
        )
        scores = (query @ key.transpose(-1, -2)) * (self.width // self.heads) ** -0.5
        mixed = torch.softmax(scores, -1) @ value
        return self.out(mixed.transpose(1, 2).reshape(batch, length, self.width))


def used_channels():
    """[14, 64]: 1 where a token has a number; the last row is a motion token's."""
    widths = [token_width(names) for names in STILL_TOKENS] + [MOTION_CHANNELS]
    return (torch.arange(CHANNELS)[None] < torch.tensor(widths)[:, None]).float()


def two_layers(inputs, hidden, outputs):
    """Linear, SiLU, linear."""
    return nn.Sequential(nn.Linear(inputs, hidden), nn.SiLU(), nn.Linear(hidden, outputs))


def zero(layer):
    """Zero weight and bias, in place."""
    nn.init.zeros_(layer.weight)
    nn.init.zeros_(layer.bias)

"""The denoiser: a diffusion transformer with separate attention over space and over time."""

import math

import torch
from torch import nn
from torch.nn import functional as F

from .shapes import (
    BACKGROUND_CHANNELS,
    BACKGROUND_TOKENS,
    CHANNELS,
    MOTION_CHANNELS,
    SLOT_WIDTH,
    SLOTS,
    SPRITE_CHANNELS,
    TOKENS,
)


class Denoiser(nn.Module):
    """Velocity of the rectified flow. Latents are [B, T, 62, 64]; unused channels are zero."""

    def __init__(self, width: int = 192, depth: int = 6, heads: int = 6):
        super().__init__()
        self.width = width
        self.background_in = nn.Linear(BACKGROUND_CHANNELS, width)
        self.sprite_in = nn.Linear(SPRITE_CHANNELS, width)
        self.motion_in = nn.Linear(MOTION_CHANNELS, width)
        self.token_position = nn.Parameter(torch.randn(1, 1, TOKENS, width) * 0.1)
        self.timestep_embed = two_layers(128, width, width, nn.SiLU())
        self.clip_position = two_layers(72, width, width, nn.SiLU())
        self.prompt_embed = two_layers(SLOTS * SLOT_WIDTH, width, width, nn.SiLU())
        self.slot_in = nn.Linear(SLOT_WIDTH, width)
        self.slot_position = nn.Parameter(torch.randn(1, SLOTS, width) * 0.1)
        self.blocks = nn.ModuleList([Block(width, heads) for _ in range(depth)])
        self.final_modulation = nn.Linear(width, 2 * width)
        self.background_out = nn.Linear(width, BACKGROUND_CHANNELS)
        self.sprite_out = two_layers(width, 2 * width, SPRITE_CHANNELS, nn.GELU(approximate="tanh"))
        self.motion_out = two_layers(width, 2 * width, MOTION_CHANNELS, nn.GELU(approximate="tanh"))
        zero(self.final_modulation)
        for last in (self.background_out, self.sprite_out[2], self.motion_out[2]):
            nn.init.normal_(last.weight, std=0.01)
            nn.init.zeros_(last.bias)
        exponent = torch.arange(64) / 64
        self.register_buffer("timestep_frequencies", 10 * torch.exp(-math.log(1000.0) * exponent))
        self.register_buffer(
            "position_frequencies", torch.tensor([0.25, 0.5, 1, 2, 4, 8, 16, 3, 6]) * math.pi
        )

    def forward(self, sample, timestep, encoder_hidden_states, seconds=None, duration=None):
        """sample [B, T, 62, 64], timestep [B] in 0..1 (1 = noise), slots [B, 8, 48] -> velocity.

        seconds [B, T] and duration [B] tell where a training window lies in its clip; without
        them the T half seconds are the whole clip.
        """
        batch, length = sample.shape[0], sample.shape[1]
        if seconds is None:
            seconds = torch.arange(length, dtype=sample.dtype)[None] * 0.5
            duration = length * 0.5 * torch.ones_like(timestep[:1])
        condition = self._condition(timestep, encoder_hidden_states.reshape(batch, -1))
        hidden = self._embed(sample) + self._position(seconds, duration)[:, :, None]
        slots = self.slot_in(encoder_hidden_states) + self.slot_position
        for block in self.blocks:
            hidden = block(hidden, condition, slots)
        scale, shift = self.final_modulation(condition)[:, None, None].chunk(2, -1)
        return self._output(F.layer_norm(hidden, (self.width,)) * (1 + scale) + shift)

    def _condition(self, timestep, prompt):
        angle = timestep[:, None] * self.timestep_frequencies[None]
        return self.timestep_embed(torch.cat([angle.sin(), angle.cos()], 1)) + self.prompt_embed(prompt)

    def _position(self, seconds, duration):
        """Where each half second lies: share of the clip, absolute seconds, length. [B, T, width]."""
        share = seconds / duration[:, None]
        length = (duration[:, None] / 10).expand_as(share)
        frequencies = self.position_frequencies
        parts = [
            waves(share, frequencies),
            waves(seconds.expand_as(share) / 10, frequencies),
            waves(share, frequencies * 0.5),
            waves(length, frequencies),
        ]
        return self.clip_position(torch.cat(parts, -1))

    def _embed(self, sample):
        end = BACKGROUND_TOKENS
        background = self.background_in(sample[:, :, :end, :BACKGROUND_CHANNELS])
        sprite = self.sprite_in(sample[:, :, end : end + 1])
        motion = self.motion_in(sample[:, :, end + 1 : end + 2, :MOTION_CHANNELS])
        return torch.cat([background, sprite, motion], 2) + self.token_position

    def _output(self, hidden):
        end = BACKGROUND_TOKENS
        background = self.background_out(hidden[:, :, :end])
        sprite = self.sprite_out(hidden[:, :, end : end + 1])
        motion = self.motion_out(hidden[:, :, end + 1 : end + 2])
        background = F.pad(background, (0, CHANNELS - BACKGROUND_CHANNELS))
        return torch.cat([background, sprite, F.pad(motion, (0, CHANNELS - MOTION_CHANNELS))], 2)


class Block(nn.Module):
    """Space attention (with the slots as extra keys), time attention, feed-forward."""

    def __init__(self, width: int, heads: int, expansion: int = 3):
        super().__init__()
        self.width = width
        self.space = Attention(width, heads)
        self.time = Attention(width, heads)
        self.slot_key_value = nn.Linear(width, 2 * width)
        self.expand = nn.Linear(width, expansion * width)
        self.contract = nn.Linear(expansion * width, width)
        self.modulation = nn.Linear(width, 6 * width)
        self.time_gate = nn.Parameter(torch.full((width,), 0.3))
        zero(self.modulation)
        with torch.no_grad():  # open both gates a little, so that training starts at once
            self.modulation.bias[2 * width : 3 * width] = 0.3
            self.modulation.bias[5 * width :] = 0.3

    def forward(self, hidden, condition, slots):
        """hidden [B, T, 62, width], condition [B, width], slots [B, 8, width]."""
        batch, length, tokens, width = hidden.shape
        parts = self.modulation(condition)[:, None, None].chunk(6, -1)
        scale, shift, gate, scale_2, shift_2, gate_2 = parts
        inner = (self._norm(hidden) * (1 + scale) + shift).reshape(batch * length, -1, self.width)
        key, value = self.slot_key_value(slots).chunk(2, -1)
        extra = [repeat_over_time(item, length, self.width) for item in (key, value)]
        hidden = hidden + gate * self.space(inner, *extra).reshape(hidden.shape)
        inner = self._norm(hidden).transpose(1, 2).reshape(batch * tokens, length, self.width)
        moved = self.time(inner).reshape(batch, tokens, length, self.width).transpose(1, 2)
        hidden = hidden + self.time_gate * moved
        inner = self._norm(hidden) * (1 + scale_2) + shift_2
        return hidden + gate_2 * self.contract(F.gelu(self.expand(inner), approximate="tanh"))

    def _norm(self, hidden):
        return F.layer_norm(hidden, (self.width,))


class Attention(nn.Module):
    """Multi-head attention of a sequence with itself and with optional extra keys and values."""

    def __init__(self, width: int, heads: int):
        super().__init__()
        self.width, self.heads = width, heads
        self.query_key_value = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, hidden, extra_key=None, extra_value=None):
        """hidden [N, L, width], extra [N, S, width] -> [N, L, width]."""
        count, length, _ = hidden.shape
        query, key, value = self.query_key_value(hidden).chunk(3, 2)
        if extra_key is not None:
            key, value = torch.cat([key, extra_key], 1), torch.cat([value, extra_value], 1)
        query, key, value = (self._split(item, count) for item in (query, key, value))
        scores = (query @ key.transpose(-1, -2)).float() * (self.width // self.heads) ** -0.5
        mixed = torch.softmax(scores, -1).to(value.dtype) @ value
        return self.out(mixed.transpose(1, 2).reshape(count, length, self.width))

    def _split(self, item, count):
        return item.reshape(count, -1, self.heads, self.width // self.heads).transpose(1, 2)


def waves(value, frequencies):
    """Sines and cosines of [..., 1] x frequencies -> [..., 2 * len(frequencies)]."""
    angle = value[..., None] * frequencies
    return torch.cat([angle.sin(), angle.cos()], -1)


def repeat_over_time(slots, length, width):
    """[B, S, width] -> [B * T, S, width]."""
    batch, count, _ = slots.shape
    return slots[:, None].expand(batch, length, count, width).reshape(batch * length, count, width)


def two_layers(inputs, hidden, outputs, activation):
    """Linear, activation, linear."""
    return nn.Sequential(nn.Linear(inputs, hidden), activation, nn.Linear(hidden, outputs))


def zero(layer):
    """Zero weight and bias, in place."""
    nn.init.zeros_(layer.weight)
    nn.init.zeros_(layer.bias)

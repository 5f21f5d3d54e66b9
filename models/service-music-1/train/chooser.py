"""A network that writes a few tokens at once, one after the other, from what was written before.

The arranger (a player of each track), the planner (a bar) and the composer (a sixteenth) are of this kind.
The draw is part of the graph: it takes uniform numbers and gives tokens.
"""

import dataclasses

import torch
from torch import nn
from torch.nn import functional as F


@dataclasses.dataclass(frozen=True)
class Form:
    """Sizes of a chooser."""

    voices: int
    """Tokens that it writes."""
    tokens: int
    """Values of each."""
    rows: int
    """Earlier writings that it reads, each of `voices` tokens."""
    own_rows: int
    """The first so many rows go to the same voice's head directly too."""
    context: int
    """Further numbers that it reads."""
    values: int
    """Values of a context number and of a token read (`tokens` stands for none)."""
    extras: int
    """Numbers in 0..1 that it gives besides."""
    width: int = 192
    row_width: int = 40
    context_width: int = 16
    head_width: int = 64
    blocks: int = 2


class Chooser(nn.Module):
    """History [B, rows, voices] and context [B, context], int64 -> tokens [B, voices] and extras."""

    def __init__(self, form: Form) -> None:
        super().__init__()
        self.form = form
        f = form
        self.context = nn.Embedding(f.context * f.values, f.context_width)
        self.rows = nn.Embedding(max(1, f.rows * f.voices * f.values), f.row_width)
        self.own = nn.Embedding(max(1, f.own_rows * f.voices * f.values), f.head_width)
        for table in (self.context, self.rows, self.own):
            nn.init.normal_(table.weight, std=0.15)
        self.enter = nn.Linear(f.rows * f.row_width + f.context * f.context_width, f.width)
        self.blocks = nn.ModuleList(
            [nn.Sequential(nn.LayerNorm(f.width), nn.Linear(f.width, 2 * f.width), nn.GELU(), nn.Linear(2 * f.width, f.width)) for _ in range(f.blocks)]
        )
        self.norm = nn.LayerNorm(f.width)
        self.to_heads = nn.Linear(f.width, f.voices * f.head_width)
        self.written = nn.Parameter(torch.randn(f.voices, f.tokens, f.head_width) * 0.15)
        self.heads = nn.Parameter(torch.randn(f.voices, f.head_width, f.tokens) * f.head_width**-0.5)
        self.bias = nn.Parameter(torch.zeros(f.voices, f.tokens))
        self.extras = nn.Linear(f.width, max(1, f.extras))
        self.register_buffer("context_start", torch.arange(f.context) * f.values)
        starts = (torch.arange(f.rows * f.voices) * f.values).reshape(f.rows, f.voices)
        self.register_buffer("row_start", starts)
        self.register_buffer("own_start", starts[: f.own_rows].clone())

    def read(self, history: torch.Tensor, context: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """-> what every head starts from [B, voices, 64], and extras [B, extras]."""
        f = self.form
        context = context.clamp(max=f.values - 1)
        parts = [self.context(context + self.context_start).flatten(1)]
        if f.rows:
            parts.append(self.rows(history + self.row_start).sum(2).flatten(1))
        hidden = F.gelu(self.enter(torch.cat(parts, 1)))
        for block in self.blocks:
            hidden = hidden + block(hidden)
        hidden = self.norm(hidden)
        start = self.to_heads(hidden).reshape(-1, f.voices, f.head_width)
        if f.own_rows:
            start = start + self.own(history[:, : f.own_rows] + self.own_start).sum(1)
        return start, torch.sigmoid(self.extras(hidden))

    def losses(self, history: torch.Tensor, context: torch.Tensor, tokens: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Negative log likelihoods [B, voices] of tokens, and extras."""
        start, extras = self.read(history, context)
        voice = torch.arange(self.form.voices)
        written = self.written[voice, tokens]
        before = torch.cumsum(written, 1) - written
        logits = torch.einsum("bvk,vkt->bvt", F.gelu(start + before), self.heads) + self.bias
        return F.cross_entropy(logits.transpose(1, 2), tokens, reduction="none"), extras

    def forward(
        self, history: torch.Tensor, context: torch.Tensor, chances: torch.Tensor, temperature: torch.Tensor, least: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Draws: chances [B, voices] in 0..1; tokens less likely than `least` of the likeliest are left out."""
        start, extras = self.read(history, context)
        before = torch.zeros_like(start[:, 0])
        drawn = []
        for voice in range(self.form.voices):
            logits = F.gelu(start[:, voice] + before) @ self.heads[voice] + self.bias[voice]
            shares = torch.softmax(logits / temperature, 1)
            shares = shares * (shares >= least * shares.amax(1, keepdim=True)).float()
            reached = torch.cumsum(shares, 1)
            below = (reached <= chances[:, voice : voice + 1] * reached[:, -1:]).long().sum(1)
            token = below.clamp(max=self.form.tokens - 1)
            drawn.append(token)
            before = before + self.written[voice][token]
        return torch.stack(drawn, 1), extras


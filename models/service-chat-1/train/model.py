"""A decoder-only transformer: grouped queries, rotary positions, keys that also stand for the token before."""

import torch
from torch import nn
from torch.nn import functional

from .sizes import Size

ROTARY_BASE = 10_000.0
HIDDEN = -1e4
"""Added to scores of what must not be seen."""
EPSILON = 1e-6
SHARPNESS = 0.5
"""Of scores at first: queries and keys have a mean square of 1."""


def normed(values: torch.Tensor) -> torch.Tensor:
    """Divided by the root of the mean square of the last axis."""
    return values * torch.rsqrt(values.square().mean(-1, keepdim=True) + EPSILON)


def rotary(positions: torch.Tensor, head: int) -> torch.Tensor:
    """Cosines and sines [..., head] of positions [...]."""
    rates = ROTARY_BASE ** (-torch.arange(0, head, 2, device=positions.device).float() / head)
    angles = positions.float()[..., None] * rates
    return torch.cat([angles.cos(), angles.sin()], -1)


def rotate(values: torch.Tensor, table: torch.Tensor) -> torch.Tensor:
    """values [B, heads, S, head], table [B or 1, 1, S, head]."""
    half = values.shape[-1] // 2
    cosine, sine = table[..., :half], table[..., half:]
    first, second = values[..., :half], values[..., half:]
    return torch.cat([first * cosine - second * sine, first * sine + second * cosine], -1)


class Attention(nn.Module):
    """A key is `own` times what its token says plus `before` times what the token before it says."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        self.heads, self.key_heads, self.head = size.heads, size.key_heads, size.width // size.heads
        self.query = nn.Parameter(torch.empty(size.width, size.width))
        self.key = nn.Parameter(torch.empty(self.key_heads * self.head, size.width))
        self.value = nn.Parameter(torch.empty(self.key_heads * self.head, size.width))
        self.out = nn.Parameter(torch.zeros(size.width, size.width))
        looks_back = torch.arange(self.key_heads) % 2 == 1
        self.own = nn.Parameter(torch.where(looks_back, 0.2, 1.0)[:, None, None])
        self.before = nn.Parameter(torch.where(looks_back, 0.8, 0.0)[:, None, None])
        self.sharpness = nn.Parameter(torch.full((size.heads, 1, 1), SHARPNESS))

    def project(self, x: torch.Tensor, table: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """x [B, S, W] -> queries [B, H, S, D], keys and values [B, K, S, D]."""
        shape = (x.shape[0], x.shape[1], -1, self.head)
        query, key, value = (
            functional.linear(x, weight).view(shape).transpose(1, 2) for weight in (self.query, self.key, self.value)
        )
        return rotate(normed(query), table) * self.sharpness, rotate(normed(key), table), value

    def mix_keys(self, key: torch.Tensor) -> torch.Tensor:
        """Keys [B, K, P, D] of tokens, each with a share of the one before it."""
        return key * self.own + functional.pad(key[:, :, :-1], (0, 0, 1, 0)) * self.before

    def read_whole(self, x: torch.Tensor, table: torch.Tensor, ahead: torch.Tensor) -> torch.Tensor:
        """x [B, S, W] of rows without a past and without gaps, ahead [S, S] is added to the scores -> [B, S, W]."""
        query, key, value = self.project(x, table)
        rows, length, shared = x.shape[0], x.shape[1], self.heads // self.key_heads
        grouped = query.reshape(rows, self.key_heads, shared * length, self.head)
        scores = (grouped @ self.mix_keys(key).transpose(2, 3)).view(rows, self.key_heads, shared, length, length)
        weights = torch.softmax(scores.float() + ahead, -1).to(value.dtype)
        mixed = (weights.view(rows, self.key_heads, shared * length, length) @ value).view(rows, self.heads, length, -1)
        return functional.linear(mixed.transpose(1, 2).reshape(x.shape), self.out)

    def forward(
        self,
        x: torch.Tensor,
        table: torch.Tensor,
        mask: torch.Tensor,
        seen: torch.Tensor,
        past: tuple[torch.Tensor, ...],
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """mask [B, 1, S, P+S] is added to the scores; seen [B, 1, P+S, 1] is 0 for keys that stand for no token."""
        query, key, value = self.project(x, table)
        key, value = torch.cat([past[0], key], 2), torch.cat([past[1], value], 2)
        rows, length, shared = x.shape[0], x.shape[1], self.heads // self.key_heads
        grouped = query.reshape(rows, self.key_heads, shared, length, self.head)
        scores = grouped @ self.mix_keys(key * seen).transpose(2, 3)[:, :, None]
        weights = torch.softmax(scores + mask[:, None], -1)
        mixed = (weights @ value[:, :, None]).reshape(rows, self.heads, length, self.head)
        return functional.linear(mixed.transpose(1, 2).reshape(x.shape), self.out), key, value


class Block(nn.Module):
    """Attention, then two matrices with a squared rectifier between them; each reads a normed stream."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        self.attention = Attention(size)
        self.up = nn.Parameter(torch.empty(size.inner, size.width))
        self.down = nn.Parameter(torch.zeros(size.width, size.inner))

    def forward(self, x: torch.Tensor, *rest) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        mixed, key, value = self.attention(normed(x), *rest)
        return self.think(x + mixed), key, value

    def read_whole(self, x: torch.Tensor, table: torch.Tensor, ahead: torch.Tensor) -> torch.Tensor:
        return self.think(x + self.attention.read_whole(normed(x), table, ahead))

    def think(self, x: torch.Tensor) -> torch.Tensor:
        inner = functional.relu(functional.linear(normed(x), self.up)).square()
        return x + functional.linear(inner, self.down)


class ChatModel(nn.Module):
    """Token ids to logits. The table of tokens is read at both ends."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        self.size = size
        self.head = size.width // size.heads
        self.table = nn.Parameter(torch.randn(size.vocabulary, size.width) * size.width**-0.5)
        self.blocks = nn.ModuleList(Block(size) for _ in range(size.layers))
        self.scale = nn.Parameter(torch.tensor(0.6))
        for name, weight in self.named_parameters():
            if weight.dim() == 2 and name.rsplit(".", 1)[-1] in ("query", "key", "value", "up"):
                nn.init.uniform_(weight, -((3 / size.width) ** 0.5), (3 / size.width) ** 0.5)

    def hidden(self, ids: torch.Tensor) -> torch.Tensor:
        """ids [B, S] from the beginning -> [B, S, W]; what follows a token is not seen by it."""
        x = normed(functional.embedding(ids, self.table))
        places = torch.arange(ids.shape[1], device=ids.device)
        table, ahead = rotary(places, self.head), (places[None, :] > places[:, None]).float() * HIDDEN
        for block in self.blocks:
            x = block.read_whole(x, table, ahead)
        return normed(x)

    def logits(self, hidden: torch.Tensor) -> torch.Tensor:
        """[..., W] -> [..., vocabulary]."""
        return functional.linear(hidden * self.scale, self.table)

    def forward(
        self, ids: torch.Tensor, attention_mask: torch.Tensor, position_ids: torch.Tensor, *past: torch.Tensor
    ) -> tuple[torch.Tensor, ...]:
        """What the package's graph computes: logits [B, S, V], then key and value [B, K, P+S, D] of every block.

        attention_mask [B, P+S] is 0 where a row has no token; past holds key and value of every block.
        """
        length, span = ids.shape[1], attention_mask.shape[1]
        places = torch.arange(span, device=ids.device)
        ahead = places[None, :] > (places[span - length :])[:, None]
        absent = attention_mask[:, None, None, :] == 0
        mask = (ahead[None, None] | absent).to(self.table.dtype) * HIDDEN
        seen = attention_mask[:, None, :, None].to(self.table.dtype)
        table = rotary(position_ids, self.head)[:, None]
        x = normed(functional.embedding(ids, self.table))
        present = []
        for at, block in enumerate(self.blocks):
            x, key, value = block(x, table, mask, seen, past[2 * at : 2 * at + 2])
            present += [key, value]
        return self.logits(normed(x)), *present

"""The same operators in torch, with its own fused kernels where it has them."""

from typing import Any

import numpy as np
import torch
import torch.nn.functional as F

EPSILON = 1e-6


class TorchOperators(torch.nn.Module):
    """Weights come from the file that the graph reads; tables are made once."""

    def __init__(self, weights: dict[str, torch.Tensor], tables: dict[str, np.ndarray], element: str, device: str):
        super().__init__()
        kind = getattr(torch, element)
        self.values = dict(weights)
        for name, values in tables.items():
            self.values[name] = torch.from_numpy(values.copy()).to(device, kind)

    def weight(self, name: str, _shape: Any, _spread: float) -> torch.Tensor:
        return self.values[name]

    def table(self, name: str, _make: Any) -> torch.Tensor:
        return self.values[name]

    def add(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return a + b

    def mul(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return a * b

    def one_plus(self, x: torch.Tensor) -> torch.Tensor:
        return 1 + x

    def linear(self, x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        return F.linear(x, weight.T, bias)

    def silu(self, x: torch.Tensor) -> torch.Tensor:
        return F.silu(x)

    def gelu(self, x: torch.Tensor) -> torch.Tensor:
        return F.gelu(x, approximate="tanh")

    def layer_norm(self, x: torch.Tensor, scale: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        return F.layer_norm(x, scale.shape, scale, bias, EPSILON)

    def rms_norm(self, x: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
        return F.rms_norm(x, scale.shape, scale, EPSILON)

    def channel_norm(self, x: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
        return x * torch.rsqrt((x * x).mean(1, keepdim=True) + EPSILON) * scale

    def rotate(self, x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor, heads: int) -> torch.Tensor:
        batch, tokens, width = x.shape
        even, odd = x.view(batch, tokens, heads, -1, 2).unbind(-1)
        cos, sin = cos[:, None], sin[:, None]
        return torch.stack((even * cos - odd * sin, even * sin + odd * cos), -1).view(batch, tokens, width)

    def attention(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, heads: int) -> torch.Tensor:
        q, k, v = (x.unflatten(-1, (heads, -1)).transpose(1, 2) for x in (q, k, v))
        return F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)

    def conv(self, x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, pads: tuple[int, ...]) -> torch.Tensor:
        run = F.conv3d if x.dim() == 5 else F.conv2d
        return run(x, weight, bias, padding=pads)

    def pad_before(self, x: torch.Tensor, frames: int) -> torch.Tensor:
        return F.pad(x, (0, 0, 0, 0, frames, 0))

    def double(self, x: torch.Tensor) -> torch.Tensor:
        return F.interpolate(x, scale_factor=2, mode="nearest")

    def reshape(self, x: torch.Tensor, shape: tuple[int, ...]) -> torch.Tensor:
        return x.reshape(shape)

    def transpose(self, x: torch.Tensor, axes: tuple[int, ...]) -> torch.Tensor:
        return x.permute(axes)

    def split(self, x: torch.Tensor, parts: int, axis: int) -> list[torch.Tensor]:
        return list(x.chunk(parts, axis))

    def to_bytes(self, x: torch.Tensor) -> torch.Tensor:
        return (x * 127.5 + 127.5).clamp(0, 255).round().to(torch.uint8).contiguous()

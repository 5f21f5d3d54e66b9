"""The decoder of latents: residual blocks of causal 3-D convolutions, doubled three times; no attention."""

import numpy as np

from operators import Operators, Value
from shapes import Decoder


def decode(o: Operators, s: Decoder, latents: Value) -> Value:
    """Latents [1, C, T, H, W] of one window to RGB bytes [4 T, 8 H, 8 W, 3]."""
    wide = 4 * s.width
    size = (s.frames, s.height, s.width_latents)
    x = convolve(o, "in", latents, s.channels, wide)
    for index in range(2):
        x = residual(o, f"middle.{index}", x, wide, wide)
    widths = (wide, wide, 2 * s.width, s.width)
    inputs = wide
    for level, outputs in enumerate(widths):
        for index in range(3):
            x = residual(o, f"up.{level}.{index}", x, inputs, outputs)
            inputs = outputs
        if level < 3:
            x, size = enlarge(o, f"up.{level}", x, (outputs, outputs // 2), (size, level < 2))
            inputs = outputs // 2
    x = convolve(o, "out", o.silu(norm(o, "out.norm", x, inputs)), inputs, 3)
    return o.to_bytes(o.transpose(o.reshape(x, (3, *size)), (1, 2, 3, 0)))


def residual(o: Operators, name: str, x: Value, inputs: int, outputs: int) -> Value:
    h = convolve(o, f"{name}.0", o.silu(norm(o, f"{name}.0.norm", x, inputs)), inputs, outputs)
    h = convolve(o, f"{name}.1", o.silu(norm(o, f"{name}.1.norm", h, outputs)), outputs, outputs)
    if inputs != outputs:
        x = o.conv(x, *filters(o, f"{name}.skip", (outputs, inputs, 1, 1, 1)), (0, 0, 0))
    return o.add(x, h)


def enlarge(
    o: Operators, name: str, x: Value, widths: tuple[int, int], place: tuple[tuple[int, int, int], bool]
) -> tuple[Value, tuple[int, int, int]]:
    """Twice the height and width, and twice the frames where the level says so."""
    (inputs, outputs), ((frames, height, width), in_time) = widths, place
    if in_time:
        x = o.conv(o.pad_before(x, 2), *filters(o, f"{name}.time", (2 * inputs, inputs, 3, 1, 1)), (0, 0, 0))
        x = o.transpose(o.reshape(x, (2, inputs, frames, height, width)), (1, 2, 0, 3, 4))
        frames *= 2
    x = o.transpose(o.reshape(x, (inputs, frames, height, width)), (1, 0, 2, 3))
    x = o.conv(o.double(x), *filters(o, f"{name}.space", (outputs, inputs, 3, 3)), (1, 1))
    x = o.transpose(x, (1, 0, 2, 3))
    return o.reshape(x, (1, outputs, frames, 2 * height, 2 * width)), (frames, 2 * height, 2 * width)


def convolve(o: Operators, name: str, x: Value, inputs: int, outputs: int) -> Value:
    return o.conv(o.pad_before(x, 2), *filters(o, name, (outputs, inputs, 3, 3, 3)), (0, 1, 1))


def filters(o: Operators, name: str, shape: tuple[int, ...]) -> tuple[Value, Value]:
    spread = float(np.prod(shape[1:])) ** -0.5
    return o.weight(f"{name}.weight", shape, spread), o.weight(f"{name}.bias", shape[:1], 0.02)


def norm(o: Operators, name: str, x: Value, channels: int) -> Value:
    return o.channel_norm(x, o.table(f"{name}.{channels}", lambda: np.ones((1, channels, 1, 1, 1))))

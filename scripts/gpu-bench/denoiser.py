"""The denoiser: thirty blocks of attention over the clip, attention to the text, and a modulated MLP."""

import numpy as np

from operators import Operators, Value
from shapes import Denoiser

PATCH = 4
"""Latents of one patch."""


def denoise(o: Operators, s: Denoiser, latents: Value, time: Value, context: Value) -> Value:
    """Latents [1, C, T, H, W], time features [1, 256] and text [1, L, 4096] to the velocity [1, C, T, H, W]."""
    x = linear(o, "patches", to_patches(o, s, latents), s.channels * PATCH, s.width)
    t = linear(o, "time.1", o.silu(linear(o, "time.0", time, s.time_features, s.width)), s.width, s.width)
    modulation = o.reshape(linear(o, "time.2", o.silu(t), s.width, 6 * s.width), (1, 6, s.width))
    text = linear(o, "text.1", o.gelu(linear(o, "text.0", context, s.text_width, s.width)), s.width, s.width)
    turn = o.table("cos", lambda: np.cos(rotation(s))), o.table("sin", lambda: np.sin(rotation(s)))
    for layer in range(s.layers):
        x = block(o, s, f"block.{layer}", (x, modulation, text), turn)
    last = o.add(o.weight("head.modulation", (1, 2, s.width), 0.1), o.reshape(t, (1, 1, s.width)))
    shift, scale = o.split(last, 2, 1)
    x = o.add(o.mul(plain_norm(o, s, x), o.one_plus(scale)), shift)
    return from_patches(o, s, linear(o, "head", x, s.width, s.channels * PATCH))


def block(o: Operators, s: Denoiser, name: str, state: tuple[Value, Value, Value], turn: tuple[Value, Value]) -> Value:
    x, modulation, text = state
    own = o.add(o.weight(f"{name}.modulation", (1, 6, s.width), 0.1), modulation)
    shift, scale, gate, mlp_shift, mlp_scale, mlp_gate = o.split(own, 6, 1)
    h = o.add(o.mul(plain_norm(o, s, x), o.one_plus(scale)), shift)
    x = o.add(x, o.mul(attend(o, s, f"{name}.self", (h, h), turn), gate))
    normed = o.layer_norm(x, *affine(o, f"{name}.norm", s.width))
    x = o.add(x, attend(o, s, f"{name}.text", (normed, text), None))
    h = o.add(o.mul(plain_norm(o, s, x), o.one_plus(mlp_scale)), mlp_shift)
    h = linear(o, f"{name}.mlp.1", o.gelu(linear(o, f"{name}.mlp.0", h, s.width, s.hidden)), s.hidden, s.width)
    return o.add(x, o.mul(h, mlp_gate))


def attend(
    o: Operators, s: Denoiser, name: str, values: tuple[Value, Value], turn: tuple[Value, Value] | None
) -> Value:
    x, other = values
    q = o.rms_norm(linear(o, f"{name}.q", x, s.width, s.width), o.table(f"{name}.q.norm", lambda: np.ones(s.width)))
    k = o.rms_norm(linear(o, f"{name}.k", other, s.width, s.width), o.table(f"{name}.k.norm", lambda: np.ones(s.width)))
    v = linear(o, f"{name}.v", other, s.width, s.width)
    if turn is not None:
        q, k = (o.rotate(value, *turn, s.heads) for value in (q, k))
    return linear(o, f"{name}.out", o.attention(q, k, v, s.heads), s.width, s.width)


def linear(o: Operators, name: str, x: Value, inputs: int, outputs: int) -> Value:
    weight = o.weight(f"{name}.weight", (inputs, outputs), inputs**-0.5)
    return o.linear(x, weight, o.weight(f"{name}.bias", (outputs,), 0.02))


def affine(o: Operators, name: str, width: int) -> tuple[Value, Value]:
    return o.table(f"{name}.scale", lambda: np.ones(width)), o.weight(f"{name}.bias", (width,), 0.02)


def plain_norm(o: Operators, s: Denoiser, x: Value) -> Value:
    return o.layer_norm(x, o.table("ones", lambda: np.ones(s.width)), o.table("zeros", lambda: np.zeros(s.width)))


def to_patches(o: Operators, s: Denoiser, latents: Value) -> Value:
    frames, rows, columns = s.grid
    x = o.reshape(latents, (s.channels, frames, rows, 2, columns, 2))
    return o.reshape(o.transpose(x, (1, 2, 4, 0, 3, 5)), (1, s.tokens, s.channels * PATCH))


def from_patches(o: Operators, s: Denoiser, x: Value) -> Value:
    frames, rows, columns = s.grid
    x = o.reshape(x, (frames, rows, columns, s.channels, 2, 2))
    shape = (1, s.channels, s.frames, s.height, s.width_latents)
    return o.reshape(o.transpose(x, (3, 0, 1, 4, 2, 5)), shape)


def rotation(s: Denoiser) -> np.ndarray:
    """Angles [tokens, head / 2] of the three axes' rotary embedding, base 10 000."""
    pairs = s.head_width // 2
    across = pairs // 3
    axes = []
    for axis, count in enumerate((pairs - 2 * across, across, across)):
        angles = np.outer(np.arange(s.grid[axis]), 10_000.0 ** -(np.arange(count) / max(count, 1)))
        shape = [1, 1, 1, count]
        shape[axis] = s.grid[axis]
        axes.append(np.broadcast_to(angles.reshape(shape), (*s.grid, count)))
    return np.concatenate(axes, axis=-1).reshape(s.tokens, pairs)

"""Paints a canvas and the planes of its moving layers at any resolution, in torch.

Everything is sampled by products with tent matrices, so that the same code exports to ONNX.
"""

import math

import torch
from torch import nn

from . import patterns, shapes


class Painter(nn.Module):
    """Textures and numbers of one scene -> canvas and layer planes."""

    def forward(self, code: dict[str, torch.Tensor], rows: torch.Tensor, columns: torch.Tensor) -> torch.Tensor:
        """code: textures (see textures_of) of one scene; rows [H], columns [W] are the centres of the
        pixels in frame heights -> RGB [3, H, W] in 0..1."""
        pixel = rows[1] - rows[0]
        picture = paint_sky(code, rows, columns, pixel)
        for index in range(shapes.LAND_LAYERS):
            picture = paint_land(code, index, picture, rows, columns, pixel)
            if index == 0:
                picture = paint_reflection(code, picture, rows, columns, pixel)
        return picture.clamp(0, 1)


def paint_sky(code, rows, columns, pixel):
    """Gradient, glow, sun or moon, clouds or stars."""
    place = rows * shapes.SKY_ROWS - 0.5
    picture = (code["sky"] @ tent(place, shapes.SKY_ROWS).T)[:, :, None]
    look = code["body_look"]
    x, y, radius = look[0], look[1], look[2].exp()
    distance = ((columns[None] - x).square() + (rows[:, None] - y).square() + 1e-9).sqrt()
    glow = look[6] / (1 + (distance / (radius * 1.2)).square()) * (1.1 - distance * 1.4).clamp(0, 1)
    picture = mix(picture, look[3:6, None, None], glow)
    side, reach = shapes.BODY_SIDE, radius * shapes.BODY_EXTENT
    down = tent(((rows - y) / reach + 1) * side / 2 - 0.5, side, hold=False)
    across = tent(((columns - x) / reach + 1) * side / 2 - 0.5, side, hold=False)
    drawn = down @ code["body"] @ across.T
    alpha = drawn[3:]
    steep = sharpen(alpha / code["body"][3].amax().clamp(min=0.2), 2 * reach / side / pixel)
    steep = steep * code["body"][3].amax()
    picture = picture * (1 - steep) + drawn[:3] / alpha.clamp(min=0.02) * steep
    look = code["decal_look"]
    height, period = shapes.DECAL_HEIGHT, shapes.DECAL_PERIOD
    cover = sample(code["decal"], rows / height, phase_of(look, period) + columns, period)
    cover = sharpen(cover, height / shapes.DECAL_ROWS / pixel) * look[5]
    return mix(picture, look[2:5, None, None], cover)


def paint_land(code, index, picture, rows, columns, pixel):
    """One layer of land over the picture."""
    level, shift = code["line_place"][index, 0], code["line_place"][index, 1]
    u = (columns + shift) * (shapes.LINE_SAMPLES / shapes.LINE_WIDTH) - 0.5
    step = 0.5 * pixel * shapes.LINE_SAMPLES / shapes.LINE_WIDTH
    line = code[f"line_{index}"]
    before, after = (tent(u + offset, shapes.LINE_SAMPLES) @ line for offset in (-step, step))
    slope = (after - before) / pixel
    below = rows[:, None] - (level - (before + after) / 2)[None]
    cover = (0.5 + below / (pixel * (1 + slope.square()).sqrt())).clamp(0, 1)
    v = rows - level
    span = shapes.PROFILE_BOTTOM - shapes.PROFILE_TOP
    place = (v - shapes.PROFILE_TOP) * (shapes.PROFILE_ROWS / span) - 0.5
    own = (code["profile"][index] @ tent(place, shapes.PROFILE_ROWS).T)[:, :, None]
    height = shapes.MARK_BOTTOM - shapes.MARK_TOP
    down = tent((v - shapes.MARK_TOP) * (shapes.MARK_ROWS / height) - 0.5, shapes.MARK_ROWS, hold=False)
    across = tent(u * (shapes.MARK_COLUMNS / shapes.LINE_SAMPLES), shapes.MARK_COLUMNS)
    drawn = down @ code["mark"][index] @ across.T
    ratio = height / shapes.MARK_ROWS / pixel
    own = mix(own, code["mark_look"][index, :3, None, None], sharpen(drawn.clamp(min=0), ratio))
    own = mix(own, code["mark_look"][index, 3:, None, None], sharpen((-drawn).clamp(min=0), ratio))
    return mix(picture, own, cover)


def paint_reflection(code, picture, rows, columns, pixel):
    """The light of sun or moon on the first layer."""
    look, top = code["body_look"], code["line_place"][0, 0]
    depth = ((rows - top) / (1 - top).clamp(min=0.1)).clamp(0, 1)[:, None]
    width = 0.05 + 0.25 * depth
    ripple = 0.012 * torch.sin(rows[:, None] * 60)
    share = ((columns[None] - look[0] + ripple).abs() - 0.3 * width) / (0.7 * width)
    share = share.clamp(0, 1)
    cover = look[7] * (1 - share * share * (3 - 2 * share))
    inside = (0.5 + (rows - top) / pixel).clamp(0, 1)[:, None]
    return mix(picture, look[3:6, None, None], cover * inside)


def paint_band(code, index, rows, columns):
    """Cover 0..1 of a scrolling band at time 0, [H, W]."""
    look = code["band_look"][index]
    height, period = shapes.BAND_HEIGHT, shapes.BAND_PERIOD
    place = (rows - look[2] - code["line_place"][0, 0]) / height
    cover = sample(code["band"][index], place, phase_of(look, period) + columns, period)
    pixel = rows[1] - rows[0]
    return soften(cover, height / shapes.BAND_ROWS / pixel, look[8])


def paint_tile(code, rows, columns):
    """Cover 0..1 of rain, snow, mist or bubbles at time 0, [H, W]; repeats along both axes."""
    period, side = shapes.TILE_PERIOD, shapes.TILE_SIDE
    down = tent(rows / period * side - 0.5, side, wrap=True)
    across = tent(columns / period * side - 0.5, side, wrap=True)
    pixel = rows[1] - rows[0]
    return soften(down @ code["tile"] @ across.T, period / side / pixel, code["tile_look"][6])


def soften(cover, ratio, softness):
    """Sharp edges, or the cover as it is where softness is 1."""
    sharp = sharpen(cover, ratio)
    return (sharp + (cover.clamp(0, 1) - sharp) * softness).clamp(0, 1)


def sample(texture, place, across, period):
    """Texture [R, C] at rows place (0..1 is its height, else nothing) and columns across (repeats)."""
    count, repeats = texture.shape
    down = tent(place * count - 0.5, count, hold=False)
    return down @ texture @ tent(across / period * repeats - 0.5, repeats, wrap=True).T


def phase_of(look, period):
    """Shift along x from a cosine and a sine."""
    return torch.atan2(look[1], look[0]) * (period / (2 * math.pi))


def tent(place, count, hold=True, wrap=False):
    """Linear interpolation matrix [n, count] for places in samples; hold the ends, end, or wrap."""
    index = torch.arange(count, dtype=place.dtype)
    if wrap:
        place = place - torch.floor((place + 0.5) / count) * count
        away = (place[:, None] - index[None]).abs()
        away = torch.minimum(away, count - away)
    else:
        place = place.clamp(0, count - 1) if hold else place
        away = (place[:, None] - index[None]).abs()
    return (1 - away).clamp(min=0)


def sharpen(cover, ratio):
    """Makes the ramp of a shape's edge one pixel wide; ratio: pixels that one texel covers."""
    steep = torch.clamp(torch.as_tensor(ratio), min=1.0)
    return ((cover - 0.5) * steep + 0.5).clamp(0, 1)


def mix(under, colour, cover):
    """colour over the picture."""
    return under + (colour - under) * cover


def textures_of(code) -> dict[str, torch.Tensor]:
    """The exact textures of a code of scene_code.py."""
    out = {name: torch.as_tensor(value) for name, value in code.items()}
    out["decal"] = combine(code["decal"], patterns.decals())
    out["body"] = combine(code["body"], patterns.bodies())
    out["mark"] = torch.stack([combine(row, patterns.marks()) for row in code["mark"]])
    out["band"] = torch.stack([combine(row, patterns.bands()) for row in code["band"]])
    out["tile"] = combine(code["tile"], patterns.tiles())
    return out


def combine(weights, library):
    """Weighted sum of patterns [K, ...]."""
    return torch.einsum("k,k...->...", torch.as_tensor(weights), torch.from_numpy(library))


def centres(height: int, width: int):
    """Rows and columns of a canvas of the given pixels."""
    return (torch.arange(height) + 0.5) / height, (torch.arange(width) + 0.5) / width * shapes.ASPECT

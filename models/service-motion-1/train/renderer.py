"""Exact frames of random scenes: what the whole model is to imitate. Used by the probe, not by the model."""

import math
import random

import numpy as np
import torch
from torch.nn import functional as F

from . import shapes
from . import vocabulary as words
from .fit_codecs import clip_code
from .painter import Painter, centres, mix, paint_band, paint_tile, textures_of
from .placement import CENTRE
from .scene_decoder import SHADOW_FALL, SHADOW_HEIGHT
from .sprites import draw_sprite

SPRITE_SIDE = 64
FINER = 1.25
"""Pixels of the canvas for one of the frame."""


def render_clip(scene, rng: random.Random, seconds, height: int, width: int) -> np.ndarray:
    """Frames of a scene at the given seconds: [n, height, width, 3] uint8. Any shape of frame."""
    return render_with_places(scene, rng, seconds, height, width)[0]


@torch.no_grad()
def render_with_places(scene, rng: random.Random, seconds, height: int, width: int):
    """-> the frames of render_clip, and where the subject is in each [n, 5]: x and y in frame heights
    from the frame's middle, half size in frame heights, angle, and 1 or -1 as it faces right or left."""
    code, placement = clip_code(scene, rng)
    textures = textures_of(code)
    rows, columns = centres(round(height * FINER), round(height * FINER * shapes.ASPECT))
    picture = Painter()(textures, rows, columns)
    covers = [paint_band(textures, index, rows, columns) for index in range(2)]
    colour = np.clip(np.array(words.COLOURS[scene["colour"]]) * rng.uniform(0.92, 1.08), 0, 1)
    frames = []
    for second in seconds:
        canvas = picture
        for cover, look in zip(covers, textures["band_look"]):
            moved = torch.roll(cover, round(float(look[3]) * second * len(rows)), 1)
            canvas = mix(canvas, look[4:7, None, None], moved * look[7])
        pan, lift, log_zoom = placement.view(second)
        frame = seen(canvas, (pan, lift, math.exp(log_zoom)), height, width)
        frame = put_tile(frame, textures, second)
        if scene["subject"] != "none":
            frame = put_subject(frame, scene, colour, placement, second, textures["shadow"])
        frames.append((frame.clamp(0, 1).permute(1, 2, 0) * 255 + 0.5).byte().numpy())
    return np.stack(frames), np.array([seen_place(placement, second) for second in seconds])


def seen_place(placement, second):
    """x, y, half size, angle and facing of the subject as the camera shows it."""
    x, y, size, angle = placement.place(second)
    pan, lift, log_zoom = placement.view(second)
    zoom = math.exp(log_zoom)
    return (x - CENTRE - pan) * zoom, (y - 0.5 - lift) * zoom, size * zoom, angle, placement.facing()


def seen(canvas, camera, height, width):
    """The camera's view of a canvas [3, H, W]; frames of other shapes show the middle."""
    pan, lift, zoom = camera
    y = ((torch.arange(height) + 0.5) / height - 0.5) / zoom + 0.5 + lift
    x = ((torch.arange(width) + 0.5) / height - width / height / 2) / zoom + CENTRE + pan
    grid = torch.stack(torch.meshgrid(y * 2 - 1, x / CENTRE - 1, indexing="ij")[::-1], -1)
    return F.grid_sample(canvas[None], grid[None], padding_mode="border", align_corners=False)[0]


def put_tile(frame, textures, second):
    """Rain, snow, mist or bubbles over the frame [3, H, W]."""
    look = textures["tile_look"]
    if look[5] <= 0:
        return frame
    height, width = frame.shape[1:]
    rows = (torch.arange(height) + 0.5) / height - float(look[1]) * second
    columns = (torch.arange(width) + 0.5) / height - float(look[0]) * second
    return mix(frame, look[2:5, None, None], paint_tile(textures, rows, columns) * look[5])


def put_subject(frame, scene, colour, placement, second, shadow):
    """Shadow and subject over the frame [3, H, W]."""
    height, width = frame.shape[1:]
    x, y, size, angle, facing = seen_place(placement, second)
    _, lift, log_zoom = placement.view(second)
    zoom = math.exp(log_zoom)
    x, y = x + width / height / 2, y + 0.5
    half = size * shapes.SPRITE_EXTENT
    sprite = torch.from_numpy(draw_sprite(scene, colour, second, SPRITE_SIDE))
    ground = (float(shadow[1]) - 0.5 - lift) * zoom + 0.5
    strength = float(shadow[0]) / (1 + SHADOW_FALL * max(0, ground - y - 0.55 * half))
    flat = torch.tensor([[facing / half, 0, -x * facing / half], [0, 1 / SHADOW_HEIGHT / half, -ground / SHADOW_HEIGHT / half]])
    shade = placed(F.avg_pool2d(sprite[None, 3:], 5, 1, 2)[0], flat, height, width)
    frame = frame * (1 - shade * strength)
    c, s = math.cos(angle) / half, math.sin(angle) / half
    drop = shapes.SPRITE_DROP / shapes.SPRITE_EXTENT
    turned = [[c * facing, s * facing, -(x * c + y * s) * facing], [-s, c, x * s - y * c - drop]]
    drawn = placed(sprite, torch.tensor(turned), height, width)
    return frame * (1 - drawn[3:]) + drawn[:3]


def placed(texture, transform, height, width):
    """A texture [c, S, S] at the pixels of a frame."""
    y, x = torch.meshgrid((torch.arange(height) + 0.5) / height, (torch.arange(width) + 0.5) / height, indexing="ij")
    grid = torch.einsum("ijk,ck->ijc", torch.stack([x, y, torch.ones_like(x)], -1), transform.float())
    return F.grid_sample(texture[None], grid[None], padding_mode="zeros", align_corners=False)[0]

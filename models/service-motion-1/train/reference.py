"""What the hand-written graphs must give, written plainly in torch: for the parity check."""

import math

import numpy as np
import torch
from torch.nn import functional as F

from . import paths, shapes
from .clip_tokens import UNIT_SIZE
from .frame_decoder import ALPHA_FLOOR, SHADOW_SIDE, lanczos, premultiplied_yuv
from .scene_decoder import (
    AFTER,
    BEFORE,
    CAMERA_FROM,
    CAMERA_WIDTH,
    CENTRE,
    LEAST_SIZE,
    MOST_KEPT,
    MOST_SIZE,
    SHADOW_FALL,
    SHADOW_HEIGHT,
)


def scene_reference(latents, codec, sprite, drift=0.0):
    """latents [1, 13 + T, 64] -> sprite, transforms, sprite weights, cameras, shadows (see scene_decoder)."""
    tokens = latents[0]
    first, last = shapes.SPRITE_TOKENS
    looks = sprite.decode(tokens[first : last + 1])
    share = (looks[:, 3] > 0.5).float().mean()
    looks = looks * ((share - shapes.COVERED_FROM) / shapes.COVERED_WIDTH).clamp(0, 1)
    motion = tokens[shapes.STILL_COUNT]
    count = shapes.FRAMES_PER_LATENT * (len(tokens) - shapes.STILL_COUNT)
    values = motion_values(motion[: shapes.PATH_CHANNELS], codec, count)
    view = camera_path(values[:, 5:], drift)
    facing = 1.0 if motion[shapes.PATH_CHANNELS] >= 0 else -1.0
    number = tokens[shapes.STILL_COUNT - 1, :2] / codec.shadow_gain + codec.shadow_mean
    rows = [one_frame(value, place, facing, number.tolist()) for value, place in zip(values, view)]
    moved, shades, strengths = (np.stack(items) for items in zip(*rows))
    positions = [(frame - 1) / 3 for frame in range(count)]
    return looks, moved, phase_weights(positions), view, shades, strengths[:, None]


def motion_values(latents, codec, count):
    """The path's latents [24] -> motion [frames, 8]."""
    weights = (latents / codec.path_gain) @ codec.path_back.T + codec.path_mean
    weights = weights.double().numpy().reshape(paths.CURVES, shapes.MOTION_VALUES)
    for place, least in paths.GATES.items():
        weights[place] *= np.clip(abs(weights[place]) / least - 1, 0, 1)
    seconds = np.arange(count) / shapes.FRAME_RATE
    return paths.curves(seconds, count / shapes.FRAME_RATE) @ weights


def camera_path(view, drift):
    """pan x, pan y, log zoom [F, 3] -> pan x, pan y, zoom."""
    closeness = view[:, 2].clip(0)
    gate = np.clip((closeness.max() - CAMERA_FROM) / CAMERA_WIDTH, 0, 1)
    zoom = np.exp(closeness * gate + drift * np.arange(len(view)) / len(view))
    pans = [np.clip(view[:, i], -CENTRE[i] * (1 - 1 / zoom), CENTRE[i] * (1 - 1 / zoom)) for i in (0, 1)]
    return np.stack([*pans, zoom], 1)


def one_frame(value, view, facing, shadow):
    """-> transform of the subject [2, 3], of its shadow, and the shadow's strength."""
    zoom = view[2]
    half = UNIT_SIZE * math.exp(np.clip(value[2], LEAST_SIZE, MOST_SIZE)) * zoom * shapes.SPRITE_EXTENT
    x, y = (
        np.clip(
            (value[i] - CENTRE[i] - view[i]) * zoom + CENTRE[i],
            min(BEFORE[i] * half, MOST_KEPT),
            2 * CENTRE[i] - min(AFTER[i] * half, MOST_KEPT),
        )
        for i in (0, 1)
    )
    angle = math.atan2(value[3], value[4])
    c, s = math.cos(angle) / half, math.sin(angle) / half
    drop = shapes.SPRITE_DROP / shapes.SPRITE_EXTENT
    moved = np.array([[c * facing, s * facing, -(x * c + y * s) * facing], [-s, c, x * s - y * c - drop]])
    strength = np.clip(shadow[0] * np.clip((shadow[0] - 0.06) / 0.06, 0, 1), 0, 1)
    ground = (shadow[1] - CENTRE[1] - view[1]) * zoom + CENTRE[1]
    across, down = facing / half, 1 / SHADOW_HEIGHT / half
    shade = np.array([[across, 0, -x * across], [0, down, -ground * down]])
    return moved, shade, strength / (1 + SHADOW_FALL * max(0, ground - y - 0.55 * half))


def phase_weights(positions):
    """[F, 8]"""
    weights = np.zeros((len(positions), shapes.SPRITE_PHASES))
    for row, place in zip(weights, positions):
        start = math.floor(place)
        late = (place - start) ** 2 * (3 - 2 * (place - start))
        row[start % 8] += 1 - late
        row[(start + 1) % 8] += late
    return weights


def frame_reference(feeds):
    """Inputs of the frame decoder as arrays -> I420 codes before rounding, [N, 1.5 H, W] float32."""
    inputs = {name: torch.from_numpy(value) for name, value in feeds.items()}
    height, width = (int(item) for item in feeds["size"])
    textures = frame_textures(inputs["sprite"], inputs["sprite_weights"], 3 if height > 720 else 2)
    shades = shadow_textures(inputs["sprite"], inputs["sprite_weights"])
    frames = []
    for index in range(len(inputs["shifts"])):
        planes = background(inputs, index, height, width)
        for step, (name, parts, dark) in enumerate((("luma", [0, 3], 16.0), ("chroma", [1, 2, 3], 128.0)), 1):
            plane = planes[name]
            shade = placed(shades[index], inputs["shadow_transforms"][index], plane, height, step)
            shade = shade * inputs["shadow_strengths"][index]
            plane = plane + (dark - plane) * shade
            drawn = placed(textures[index, parts], inputs["transforms"][index], plane, height, step)
            planes[name] = plane * (1 - drawn[-1:]) + drawn[:-1]
        frames.append(torch.cat([planes["luma"].flatten(), planes["chroma"].flatten()]))
    return torch.stack(frames).reshape(-1, height * 3 // 2, width)


def background(inputs, index, height, width):
    """Luma [1, H, W] and chroma [2, H / 2, W / 2] of one frame without the subject."""
    planes = {"luma": inputs["luma"][0].float(), "chroma": inputs["chroma"][0].float()}
    shift, looks = inputs["shifts"][index].tolist(), inputs["looks"]
    for band in range(2):
        if looks[band, 5] > 0:
            put(planes, torch.roll(inputs[f"band_{band}"], -shift[band], 1), looks[band])
    if planes["luma"].shape[1:] != (height, width):
        camera = inputs["cameras"][index]
        planes = {name: zoomed(plane, camera, height, width) for name, plane in planes.items()}
    if looks[2, 5] > 0:
        tile = inputs["tile"][shift[2] : shift[2] + height, shift[3] : shift[3] + width]
        put(planes, tile, looks[2])
    return planes


def put(planes, cover, look):
    """A layer over both planes, in place."""
    cover = cover.float()[None] / 255 * look[5]
    planes["luma"] += (look[2] - planes["luma"]) * cover
    half = F.avg_pool2d(cover, 2)
    planes["chroma"] += (look[3:5, None, None] - planes["chroma"]) * half


def zoomed(plane, camera, height, width):
    """What the camera sees of a plane."""
    step = 1 if len(plane) == 1 else 2
    spots = []
    for pan, centre, count in ((camera[1], 0.5, height // step), (camera[0], shapes.ASPECT / 2, width // step)):
        share = (torch.arange(count) + 0.5) / count - 0.5
        spots.append(((pan + centre) / (2 * centre) + share / camera[2]) * 2 - 1)
    y, x = torch.meshgrid(*spots, indexing="ij")
    grid = torch.stack([x, y], -1)[None]
    return F.grid_sample(plane[None], grid, padding_mode="border", align_corners=False)[0]


def frame_textures(sprite, weights, ratio):
    """Enlarged, sharpened sprite of each frame: YUV codes times alpha, and alpha, [N, 4, S, S]."""
    colours = torch.einsum("rc,pcij->prij", torch.from_numpy(premultiplied_yuv()), sprite)
    phases = torch.einsum("np,pcij->ncij", weights, colours)
    rows = torch.from_numpy(lanczos(shapes.SPRITE_SIDE, ratio))
    large = rows @ phases @ rows.T
    alpha = large[:, 3:]
    steep = ((alpha - 0.5) * ratio + 0.5).clamp(0, 1)
    return torch.cat([large[:, :3] * steep / alpha.clamp(min=ALPHA_FLOOR), steep], 1)


def shadow_textures(sprite, weights):
    """Soft cover of each frame's shadow, [N, 1, 32, 32]."""
    small = F.avg_pool2d(sprite[:, 3:], shapes.SPRITE_SIDE // SHADOW_SIDE)
    return torch.einsum("np,pcij->ncij", weights, F.avg_pool2d(small, 3, 1, 1))


def placed(texture, transform, plane, height, step):
    """A texture [c, S, S] at the pixels of a plane [., h, w]."""
    rows = (torch.arange(plane.shape[1]) + 0.5) * step / height
    columns = (torch.arange(plane.shape[2]) + 0.5) * step / height
    y, x = torch.meshgrid(rows, columns, indexing="ij")
    grid = torch.einsum("ijk,ck->ijc", torch.stack([x, y, torch.ones_like(x)], -1), transform)
    return F.grid_sample(texture[None], grid[None], padding_mode="zeros", align_corners=False)[0]

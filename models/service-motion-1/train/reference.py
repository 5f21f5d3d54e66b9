"""What the hand-written graphs must give, written plainly in torch: for the parity check."""

import math

import numpy as np
import torch
from torch.nn import functional as F

from . import shapes
from .frame_decoder import ALPHA_FLOOR, lanczos, premultiplied_yuv
from .refiner import CODE_CENTRE, CODE_SCALE
from .scene_decoder import MOTION_HIGH, MOTION_LOW, UNIT_SIZE

CROP = slice(shapes.CROP_TOP, shapes.CROP_TOP + shapes.CROP_HEIGHT)


def scene_reference(latents, background, sprite):
    """latents [1, T, 62, 64] -> keyframes, sprite, transforms, sprite weights (see scene_decoder)."""
    latents = latents[0]
    keyframes = background.decode(latents[:, : shapes.BACKGROUND_TOKENS, : shapes.BACKGROUND_CHANNELS])
    looks = torch.stack([latents[start::2, shapes.SPRITE_TOKEN].mean(0) for start in (0, 1)])
    motion = latents[:, shapes.MOTION_TOKEN]
    positions = [(frame - 1) / 3 for frame in range(shapes.FRAMES_PER_LATENT * len(latents))]
    path, facing = smooth_path(motion), 1.0 if motion[:, 20].mean() >= 0 else -1.0
    transforms = np.stack([transform(sample(path, place), facing) for place in positions])
    return without_jumps(keyframes), sprite.decode(looks), transforms, phase_weights(positions)


def without_jumps(keyframes):
    """[T, 4, 3, 96, 160] -> [4 T, 3, 96, 160]."""
    result = keyframes.clone()
    for index in range(len(keyframes) - 1):
        left = 1.5 * keyframes[index, 3] - 0.5 * keyframes[index, 2]
        jump = 1.5 * keyframes[index + 1, 0] - 0.5 * keyframes[index + 1, 1] - left
        result[index, 2:] += torch.tensor([0.125, 0.375])[:, None, None, None] * jump
        result[index + 1, :2] -= torch.tensor([0.375, 0.125])[:, None, None, None] * jump
    return result.flatten(0, 1)


def smooth_path(motion):
    """Motion tokens [T, 64] -> x, y, log size, sine, cosine at 8 Hz, smoothed: [4 T, 5]."""
    points = motion[:, :20].reshape(-1, 5).double().numpy()
    points = points * [1 / 1.6, 1 / 3, 1 / 1.8, 1 / 1.4, 1 / 1.4] + [0.889, 0.5, 0, 0, 0.6 / 1.4]
    points = points.clip(MOTION_LOW, MOTION_HIGH)
    smoothed = points.copy()
    smoothed[1:-1] = 0.25 * points[:-2] + 0.5 * points[1:-1] + 0.25 * points[2:]
    return smoothed


def sample(path, place):
    """Catmull-Rom at one position, held at the ends: [5]."""
    last = len(path) - 1
    place = min(max(place, 0), last)
    start = min(int(place), last - 1)
    a, b, c, d = (path[min(max(start + offset, 0), last)] for offset in (-1, 0, 1, 2))
    u = place - start
    return b + 0.5 * u * (c - a + u * (2 * a - 5 * b + 4 * c - d + u * (3 * (b - c) + d - a)))


def transform(point, facing):
    """[2, 3]"""
    x, y, size, sine, cosine = point
    angle, half = math.atan2(sine, cosine), UNIT_SIZE * math.exp(size) * shapes.SPRITE_EXTENT
    c, s = math.cos(angle) / half, math.sin(angle) / half
    drop = shapes.SPRITE_DROP / shapes.SPRITE_EXTENT
    return np.array([[c * facing, s * facing, -(x * c + y * s) * facing], [-s, c, x * s - y * c - drop]])


def phase_weights(positions):
    """[F, 8]"""
    weights = np.zeros((len(positions), shapes.SPRITE_PHASES))
    for row, place in zip(weights, positions):
        start = math.floor(place)
        late = (place - start) ** 2 * (3 - 2 * (place - start))
        row[start % 8] += 1 - late
        row[(start + 1) % 8] += late
    return weights


def frame_reference(refiner, feeds):
    """Inputs of the frame decoder as arrays -> I420 codes before rounding, [N, 1.5 H, W] float32."""
    inputs = {name: torch.from_numpy(value) for name, value in feeds.items()}
    height, width = (int(item) for item in feeds["size"])
    factor = height // shapes.CROP_HEIGHT
    luma, chroma = refine(refiner, inputs["keyframes"], factor)

    def blend(planes):
        return torch.einsum("nk,kcij->ncij", inputs["keyframe_weights"], planes)

    textures = frame_textures(inputs["sprite"], inputs["sprite_weights"], 3 if height > 720 else 2)
    luma = over(blend(luma), textures[:, [0, 3]], inputs["transforms"], height, 1)
    chroma = over(blend(chroma), textures[:, [1, 2, 3]], inputs["transforms"], height, 2)
    return torch.cat([luma.flatten(1), chroma.flatten(1)], 1).reshape(-1, height * 3 // 2, width)


def refine(refiner, keyframes, factor):
    """Planes of the key frames in 8-bit codes, cropped to the picture."""
    luma, chroma = (plane * CODE_SCALE + CODE_CENTRE for plane in refiner(keyframes, factor))
    rows, half_rows = (slice(CROP.start * step, CROP.stop * step) for step in (factor, factor // 2))
    return luma[:, :, rows].clamp(16, 235), chroma[:, :, half_rows].clamp(16, 240)


def frame_textures(sprite, weights, ratio):
    """Enlarged, sharpened sprite of each frame: YUV codes times alpha, and alpha, [N, 4, S, S]."""
    colours = torch.einsum("rc,pcij->prij", torch.from_numpy(premultiplied_yuv()), sprite)
    phases = torch.einsum("np,pcij->ncij", weights, colours)
    rows = torch.from_numpy(lanczos(shapes.SPRITE_SIDE, ratio))
    large = rows @ phases @ rows.T
    alpha = large[:, 3:]
    steep = ((alpha - 0.5) * ratio + 0.5).clamp(0, 1)
    return torch.cat([large[:, :3] * steep / alpha.clamp(min=ALPHA_FLOOR), steep], 1)


def over(planes, texture, transforms, height, step):
    """Composites a texture (colour times alpha, alpha last) over planes [N, c, h, w]."""
    rows = (torch.arange(planes.shape[2]) + 0.5) * step / height
    columns = (torch.arange(planes.shape[3]) + 0.5) * step / height
    y, x = torch.meshgrid(rows, columns, indexing="ij")
    places = torch.stack([x, y, torch.ones_like(x)], -1)
    grid = torch.einsum("ijk,nck->nijc", places, transforms)
    drawn = F.grid_sample(texture, grid, mode="bilinear", padding_mode="zeros", align_corners=False)
    return planes * (1 - drawn[:, -1:]) + drawn[:, :-1]

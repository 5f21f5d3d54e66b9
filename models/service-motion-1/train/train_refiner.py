"""Trains the refiner on pieces of rendered frames. Resumable; about twelve minutes of two cores.

First the trunk with the x8 head; then the x12 head alone, by least squares on the trunk's features.
"""

import math
import pathlib
import random
import time

import numpy as np
import torch
from torch.nn import functional as F

from . import shapes
from .checkpoints import load_part, save_part
from .colour import yuv_matrix
from .refiner import CODE_CENTRE, CODE_SCALE, Refiner, smooth_cells
from .renderer import keyframe_seconds, render
from .scenes import sample_scene, scene_parameters, without_subject

BATCH = 8
ROWS, COLUMNS = 48, 64
"""A piece, in small-frame pixels; whole cells."""
MARGIN = 6
"""Small pixels at inner edges of a piece that do not count: the trunk lacks their surroundings."""
LEARNING_RATE = 1.5e-3
LATENT_NOISE = 0.5


def train_refiner(checkpoints: pathlib.Path, minutes: float, seed: int = 5) -> Refiner:
    """Reads background-codec.pt, returns the running average; refiner-state.pt holds what resuming needs."""
    codec = load_part(checkpoints, "background-codec")
    refiner, average = Refiner(), Refiner()
    state_path = checkpoints / "refiner-state.pt"
    optimiser = torch.optim.AdamW(
        refiner.parameters(), lr=LEARNING_RATE, betas=(0.9, 0.99), weight_decay=1e-4
    )
    spent, step = 0.0, 0
    if state_path.exists():
        state = torch.load(state_path)
        refiner.load_state_dict(state["model"])
        average.load_state_dict(state["average"])
        optimiser.load_state_dict(state["optimiser"])
        spent, step = state["seconds"], state["step"]
    else:
        average.load_state_dict(refiner.state_dict())
    rng, started, scores = random.Random(seed + step), time.time() - spent, []
    torch.manual_seed(seed + step)
    while (share := (time.time() - started) / (60 * minutes)) < 1:
        for group in optimiser.param_groups:
            group["lr"] = LEARNING_RATE * min(1, (step + 1) / 50) * min(1, 2 * (1 - share)) + 1e-5
        loss, score = piece_loss(refiner, codec, rng)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(refiner.parameters(), 1.0)
        optimiser.step()
        step += 1
        with torch.no_grad():
            lag = 1 - min(0.995, step / (step + 20))
            torch._foreach_lerp_(list(average.parameters()), list(refiner.parameters()), lag)
        scores.append(score)
        if step % 50 == 0:
            print(f"{step} {time.time() - started:.0f}s {report(scores[-50:])}", flush=True)
        if step % 100 == 0:
            torch.save(state_of(refiner, average, optimiser, time.time() - started, step), state_path)
    torch.save(state_of(refiner, average, optimiser, time.time() - started, step), state_path)
    return average


def piece_loss(refiner, codec, rng):
    """-> loss, (squared luma error, squared error of the smooth enlargement)."""
    small, large, row, column = make_pieces(codec, rng, 8)
    cells = refiner.heads["8"](refiner.features(small, row, column))
    target = cells_of(large, 8)
    smooth = smooth_cells(small, 8)
    inside = counted(row, column)
    missing = (cells + smooth - target)[inside]
    luma, chroma = missing.split([64, 32], 1)
    edges = F.pixel_shuffle(luma, 8)
    slope = (edges[..., 1:] - edges[..., :-1]).abs().mean() + (
        edges[..., 1:, :] - edges[..., :-1, :]
    ).abs().mean()
    loss = 5 * luma.pow(2).mean() + luma.abs().mean() + 0.7 * slope
    loss = loss + 5 * chroma.pow(2).mean() + 1.5 * chroma.abs().mean()
    base = (smooth - target)[inside][:, :64]
    return loss, (luma.detach().pow(2).mean().item(), base.pow(2).mean().item())


def counted(row, column):
    """Slices of the small pixels whose surroundings the trunk saw as in a whole frame."""
    top = MARGIN if row > 0 else 0
    bottom = ROWS - (MARGIN if row + ROWS < shapes.FRAME_HEIGHT else 0)
    left = MARGIN if column > 0 else 0
    right = COLUMNS - (MARGIN if column + COLUMNS < shapes.FRAME_WIDTH else 0)
    return (slice(None), slice(None), slice(top, bottom), slice(left, right))


def make_pieces(codec, rng, factor):
    """-> decoded small pieces [B, 3, 48, 64], rendered ones [B, 48 factor, 64 factor, 3], row, column."""
    row = rng.choice([0, 16, 32, 48])
    column = rng.choice([0, 0, 16, 32, 48, 64, 80, 96, 96])
    frames, large, picked = [], [], []
    for _ in range(BATCH):
        scene = sample_scene(rng)
        parameters = without_subject(scene_parameters(scene, rng))
        seconds = keyframe_seconds(rng.randint(0, 2 * scene["seconds"] - 1))
        chosen = rng.randrange(4)
        picked.append(chosen)
        frames.append(render(parameters, seconds, size=(ROWS, COLUMNS), origin=(row, column)))
        size, origin = (ROWS * factor, COLUMNS * factor), (row * factor, column * factor)
        large.append(render(parameters, [seconds[chosen]], 90.0 * factor, size, origin)[0])
    return decode(codec, np.stack(frames), picked), torch.from_numpy(np.stack(large)), row, column


def decode(codec, frames, picked):
    """Through the codec with noise on the latents, as the denoiser leaves it: [B, 3, 48, 64]."""
    pixels = torch.from_numpy(frames).permute(0, 1, 4, 2, 3).float() / 127.5 - 1
    with torch.no_grad():
        cell = shapes.CELL
        weight = (codec.basis * codec.gain).T.reshape(-1, 12, cell, cell)
        bias = -(codec.mean @ (codec.basis * codec.gain))
        latents = F.conv2d(pixels.flatten(1, 2), weight, bias, stride=cell)
        strength = LATENT_NOISE * torch.rand(BATCH, 1, 1, 1) * (torch.rand(BATCH, 1, 1, 1) < 0.85)
        latents = latents + strength * torch.randn_like(latents)
        back = (codec.basis / codec.gain)[:, :, None, None]
        decoded = F.pixel_shuffle(F.conv2d(latents, back, codec.mean), cell)
    return decoded.reshape(BATCH, 4, 3, ROWS, COLUMNS)[torch.arange(BATCH), picked]


def cells_of(large, factor):
    """Rendered RGB [B, H, W, 3] uint8 -> YUV cells [B, 1.5 f f, H / f, W / f] in training units."""
    matrix = torch.from_numpy(yuv_matrix()).float()
    planes = large.float() / 255 @ matrix[:, :3].T + matrix[:, 3]
    planes = ((planes - CODE_CENTRE) / CODE_SCALE).permute(0, 3, 1, 2)
    luma = F.pixel_unshuffle(planes[:, :1], factor)
    chroma = F.pixel_unshuffle(F.avg_pool2d(planes[:, 1:], 2), factor // 2)
    return torch.cat([luma, chroma], 1)


def fit_large_head(refiner, codec, batches: int, seed: int = 9, ridge: float = 1e-4) -> None:
    """Solves the x12 head for the least squared error on the finished trunk."""
    rng, width = random.Random(seed), refiner.stem.out_channels
    size = 9 * width + 1
    gram, cross = torch.zeros(size, size), torch.zeros(size, 216)
    for _ in range(batches):
        small, large, row, column = make_pieces(codec, rng, 12)
        with torch.no_grad():
            features = refiner.features(small, row, column)
            patches = F.unfold(features, 3, padding=1).reshape(BATCH, -1, ROWS, COLUMNS)
            missing = cells_of(large, 12) - smooth_cells(small, 12)
        inside = counted(row, column)
        patches = patches[inside].permute(0, 2, 3, 1).reshape(-1, size - 1)
        patches = torch.cat([patches, torch.ones(len(patches), 1)], 1)
        gram += patches.T @ patches / len(patches)
        cross += patches.T @ missing[inside].permute(0, 2, 3, 1).reshape(-1, 216) / len(patches)
    solved = torch.linalg.solve(gram + ridge * batches * torch.eye(size), cross)
    refiner.heads["12"].weight.data.copy_(solved[:-1].T.reshape(216, width, 3, 3))
    refiner.heads["12"].bias.data.copy_(solved[-1])


def report(scores) -> str:
    """Peak signal-to-noise ratios of the luma, refined and smooth."""
    refined, smooth = np.mean(scores, 0)
    full = 255 / CODE_SCALE
    refined, smooth = (20 * math.log10(full) - 10 * math.log10(error) for error in (refined, smooth))
    return f"refined {refined:.2f} dB, smooth {smooth:.2f} dB"


def state_of(refiner, average, optimiser, seconds, step):
    """Everything that a later run needs to go on."""
    return {
        "model": refiner.state_dict(),
        "average": average.state_dict(),
        "optimiser": optimiser.state_dict(),
        "seconds": seconds,
        "step": step,
    }


def make_refiner(folder: pathlib.Path, minutes: float, head_batches: int = 60) -> None:
    """Trunk and both heads, saved as refiner.pt."""
    refiner = train_refiner(folder, minutes)
    fit_large_head(refiner, load_part(folder, "background-codec"), head_batches)
    save_part(folder, "refiner", refiner)

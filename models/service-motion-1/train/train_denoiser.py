"""Trains the denoiser by rectified flow on stored latents. Resumable; half an hour of two cores."""

import pathlib
import pickle
import random
import time

import numpy as np
import torch

from .captions import write_caption
from .checkpoints import load_part, save_part
from .denoiser import Denoiser
from .shapes import BACKGROUND_CHANNELS, BACKGROUND_TOKENS, MOTION_CHANNELS, MOTION_TOKEN, SPRITE_TOKEN
from .tokenizer import tokenize

BATCH = 12
LEARNING_RATE = 1.2e-3
LAST_RATE_SHARE = 0.03
DECAY_SHARE = 0.6
PROMPT_DROPOUT = 0.1
LONG_SHARE = 0.15
"""Share of the steps on clips of ten seconds."""
AVERAGE = 0.998
SPRITE_WEIGHT, MOTION_WEIGHT = 0.6, 0.8


def train_denoiser(folder: pathlib.Path, steps: int, width: int = 192, depth: int = 6, seed: int = 0) -> None:
    """Writes denoiser.pt (running average) and denoiser-state.pt every 100 steps."""
    torch.manual_seed(seed)
    encoder, clips = load_part(folder, "text-encoder"), load_clips(folder)
    channel_weight = background_weight(folder)
    model, average = Denoiser(width, depth), Denoiser(width, depth)
    average.load_state_dict(model.state_dict())
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-3, betas=(0.9, 0.98), weight_decay=0.01)
    done = resume(folder, model, average, optimiser)
    rng, started = random.Random(seed + done), time.time()
    for step in range(done, steps):
        share = step / steps
        for group in optimiser.param_groups:
            decay = LAST_RATE_SHARE + (1 - LAST_RATE_SHARE) * min(1, (1 - share) / DECAY_SHARE)
            group["lr"] = LEARNING_RATE * min(1, (step + 1) / 100) * decay
        parts = flow_losses(model, encoder, sample_batch(clips, rng), channel_weight)
        loss = parts[0] + SPRITE_WEIGHT * parts[1] + MOTION_WEIGHT * parts[2]
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        with torch.no_grad():
            keep = min(AVERAGE, (step + 1) / (step + 31))
            torch._foreach_lerp_(list(average.parameters()), list(model.parameters()), 1 - keep)
        if (step + 1) % 100 == 0 or step + 1 == steps:
            losses = " ".join(f"{part.item():.3f}" for part in parts)
            print(f"{step + 1} {time.time() - started:.0f}s background, sprite, motion {losses}", flush=True)
            save_part(folder, "denoiser", average)
            state = {"model": model.state_dict(), "average": average.state_dict()}
            torch.save(
                {**state, "optimiser": optimiser.state_dict(), "step": step + 1}, folder / "denoiser-state.pt"
            )


def flow_losses(model, encoder, batch, channel_weight):
    """Squared velocity errors of background, sprite and motion tokens; noise is time 1."""
    latents, seconds, duration, ids = batch
    slots = encoder(ids)
    time_of_item = torch.sigmoid(torch.randn(len(latents)) + 0.5)
    noise, share = torch.randn_like(latents), time_of_item[:, None, None, None]
    noisy = (1 - share) * latents + share * noise
    velocity = model(noisy, time_of_item, slots, seconds, duration)
    error = (velocity - (noise - latents)).pow(2)
    background = error[:, :, :BACKGROUND_TOKENS, :BACKGROUND_CHANNELS] * channel_weight
    motion = error[:, :, MOTION_TOKEN, :MOTION_CHANNELS]
    return background.mean(), error[:, :, SPRITE_TOKEN].mean(), motion.mean()


def sample_batch(clips, rng):
    """-> latents [B, T, 62, 64], seconds [B, T], duration [B], ids [B, 32, 10]."""
    length, count = (20, BATCH // 3) if 20 in clips and rng.random() < LONG_SHARE else (8, BATCH)
    latents, seconds, duration, ids = [], [], [], []
    for _ in range(count):
        stored, notes = rng.choice(clips[length])
        index = rng.randrange(len(stored))
        scene, first = notes[index]
        latents.append(stored[index])
        seconds.append(0.5 * (first + np.arange(length)))
        duration.append(scene["seconds"])
        ids.append(tokenize("" if rng.random() < PROMPT_DROPOUT else write_caption(scene, rng)[0]))
    return (
        torch.from_numpy(np.stack(latents)).float(),
        torch.tensor(np.stack(seconds), dtype=torch.float32),
        torch.tensor(duration, dtype=torch.float32),
        torch.from_numpy(np.stack(ids)),
    )


def load_clips(folder):
    """Length -> list of (latents [n, T, 62, 64] float16, [(scene, first half second)])."""
    clips = {}
    for path in sorted(folder.glob("latents-*-*.npz")):
        if ".partial" not in path.name:
            notes = pickle.loads(path.with_suffix(".pickle").read_bytes())
            clips.setdefault(int(path.name.split("-")[1]), []).append((np.load(path)["latents"], notes))
    return clips


def background_weight(folder):
    """Weight of each channel: the fourth root of its component's variance, mean 1."""
    gain = load_part(folder, "background-codec").gain  # proportional to variance ** -1/4
    return (1 / gain) / (1 / gain).mean()


def resume(folder, model, average, optimiser) -> int:
    """Continues from denoiser-state.pt if there is one; returns the steps done."""
    path = folder / "denoiser-state.pt"
    if not path.exists():
        return 0
    state = torch.load(path)
    model.load_state_dict(state["model"])
    average.load_state_dict(state["average"])
    optimiser.load_state_dict(state["optimiser"])
    return state["step"]

"""Trains the denoiser by rectified flow on stored tokens. Resumable; half an hour of one core."""

import pathlib
import time

import numpy as np
import torch

from .captions import Chooser, write_caption
from .checkpoints import load_part, save_part, save_state
from .codec import LINES
from .denoiser import Denoiser, used_channels
from .shapes import PARTS, STILL_COUNT, STILL_TOKENS
from .vocabulary import SLOTS

BATCH = 32
LEARNING_RATE = 1e-3
LAST_RATE_SHARE = 0.02
DECAY_SHARE = 0.65
PROMPT_DROPOUT = 0.1
SLOT_NOISE = 0.05
"""Deviation added to the slots: real prompts are not as clean as class means."""
AVERAGE = 0.99
NUMBER_WEIGHT, SPRITE_WEIGHT, MOTION_WEIGHT = 2.0, 1.2, 8.0
SAVE_EVERY = 50


def train_denoiser(folder: pathlib.Path, steps: int, seed: int = 0) -> None:
    """Writes denoiser.pt (running average) and denoiser-state.pt every 50 steps."""
    torch.manual_seed(seed)
    tables, clips = load_part(folder, "text-encoder").tables(), load_clips(folder)
    model, average = Denoiser(), Denoiser()
    average.load_state_dict(model.state_dict())
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-3, betas=(0.9, 0.98), weight_decay=0.01)
    done = resume(folder, model, average, optimiser)
    rng, started, losses = Chooser(seed + done), time.time(), []
    torch.manual_seed(seed + done)
    for step in range(done, steps):
        set_rate(optimiser, step, steps)
        parts = flow_losses(model, *sample_batch(clips, tables, rng))
        optimiser.zero_grad(set_to_none=True)
        parts[0].backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        with torch.no_grad():
            keep = min(AVERAGE, (step + 1) / (step + 31))
            torch._foreach_lerp_(list(average.parameters()), list(model.parameters()), 1 - keep)
        losses.append([part.item() for part in parts])
        if (step + 1) % SAVE_EVERY == 0 or step + 1 == steps:
            spent = time.time() - started
            left = spent / (step + 1 - done) * (steps - step - 1)
            means = np.mean(losses[-SAVE_EVERY:], 0)
            print(f"{step + 1}/{steps} {spent:.0f}s, {left:.0f}s left, loss {means[0]:.4f}", end=" ")
            print("canvas, layers, sprite, motion", np.round(means[1:], 4).tolist(), flush=True)
            save_part(folder, "denoiser", average)
            state = {"model": model.state_dict(), "average": average.state_dict()}
            state |= {"optimiser": optimiser.state_dict(), "step": step + 1}
            save_state(folder / "denoiser-state.pt", state)


def set_rate(optimiser, step, steps):
    """Warm-up, plateau, linear fall."""
    share = step / steps
    decay = LAST_RATE_SHARE + (1 - LAST_RATE_SHARE) * min(1, (1 - share) / DECAY_SHARE)
    for group in optimiser.param_groups:
        group["lr"] = LEARNING_RATE * min(1, (step + 1) / 100) * decay


def flow_losses(model, latents, slots):
    """-> the loss, then plain mean squares of canvas, layers, sprite and motion tokens; noise is time 1."""
    used, weight = used_channels(), channel_weights()
    time_of_item = torch.sigmoid(torch.randn(len(latents)) * 1.2 + 0.2)
    noise, share = torch.randn_like(latents) * used, time_of_item[:, None, None]
    noisy = (1 - share) * latents + share * noise
    error = (model(noisy, time_of_item, slots) - (noise - latents)).square()
    groups = [(0, 7), (7, 10), (10, 12), (13, 14)]
    plain = [error[:, a:b].sum().detach() / used[a:b].sum() / len(error) for a, b in groups]
    return [(error * weight).sum() / len(error) / weight.sum(), *plain]


def channel_weights():
    """[14, 64]: plain numbers count more than components; the last row is a motion token's."""
    weights = used_channels()
    for row, names in zip(weights, STILL_TOKENS):
        start = 0
        for name in names:
            end = start + PARTS[name]
            if name == "sprite":
                row[start:end] *= SPRITE_WEIGHT
            elif name not in (*LINES, "sky", "profile"):
                row[start:end] *= NUMBER_WEIGHT
            start = end
    weights[STILL_COUNT] *= MOTION_WEIGHT
    return weights


def sample_batch(clips, tables, rng):
    """-> latents [B, 14, 64], slots [B, 8, 48]."""
    tokens, classes = clips
    rows = [rng.randrange(len(tokens)) for _ in range(BATCH)]
    slots = torch.stack([prompt_slots(classes[row], tables, rng) for row in rows])
    return torch.from_numpy(tokens[rows].astype(np.float32)), slots + SLOT_NOISE * torch.randn_like(slots)


def prompt_slots(classes, tables, rng):
    """[8, 48] of a random caption of the scene: what it leaves open is "unspecified"."""
    scene = {name: values[number] for number, (name, values) in zip(classes, SLOTS)}
    stated = set() if rng.random() < PROMPT_DROPOUT else write_caption(scene, rng)[1]
    names = [name for name, _ in SLOTS]
    return torch.stack([t[n if name in stated else -1] for t, n, name in zip(tables, classes, names)])


def load_clips(folder):
    """-> tokens [n, 14, 64] and classes [n, 8]."""
    stored = [np.load(path) for path in sorted(folder.glob("latents-*.npz")) if ".partial" not in path.name]
    return [np.concatenate([item[name] for item in stored]) for name in ("tokens", "classes")]


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

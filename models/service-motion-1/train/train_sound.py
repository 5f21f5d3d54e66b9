"""Trains the sound controller on beds of the sound world. Resumable; about ten minutes of two cores."""

import pathlib
import time

import numpy as np
import torch

from .captions import Chooser, write_caption
from .checkpoints import load_part, save_part
from .scenes import sample_scene
from .train_text_encoder import class_numbers
from .sound_model import BANDS, CONTROL_HZ, OSCILLATORS, SoundController, chance_features
from .sound_teacher import make_bed

BATCH = 32
WINDOW = 4 * CONTROL_HZ
LEARNING_RATE = 2e-3


def train_sound(checkpoints: pathlib.Path, steps: int, seed: int = 11) -> SoundController:
    """Reads text-encoder.pt, writes sound.pt every 100 steps."""
    tables = load_part(checkpoints, "text-encoder").tables()
    controller = SoundController()
    average, done = SoundController(), 0
    optimiser = torch.optim.AdamW(controller.parameters(), lr=LEARNING_RATE, weight_decay=0.01)
    if (checkpoints / "sound-state.pt").exists():
        state = torch.load(checkpoints / "sound-state.pt")
        controller.load_state_dict(state["model"])
        average.load_state_dict(state["average"])
        optimiser.load_state_dict(state["optimiser"])
        done = state["step"]
    else:
        average.load_state_dict(controller.state_dict())
    rng, started, losses = Chooser(seed + done), time.time(), []
    torch.manual_seed(seed + done)
    for step in range(done, steps):
        for group in optimiser.param_groups:
            group["lr"] = LEARNING_RATE * min(1, (step + 1) / 50) * min(1, 0.02 + 2 * (1 - step / steps))
        slots, chance, target = make_batch(tables, rng)
        loss = control_loss(controller(slots, chance), target)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(controller.parameters(), 1.0)
        optimiser.step()
        with torch.no_grad():
            torch._foreach_lerp_(
                list(average.parameters()), list(controller.parameters()), 1 / min(step + 1, 100)
            )
        losses.append(loss.item())
        if (step + 1) % 100 == 0 or step + 1 == steps:
            print(f"{step + 1} {time.time() - started:.0f}s loss {np.mean(losses[-100:]):.4f}", flush=True)
            save(checkpoints, controller, average, optimiser, step + 1)
            save_part(checkpoints, "sound", average)
    return average


def control_loss(given: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Absolute errors: log gains, balance; octaves where a tone sounds; amplitudes relative to a floor; loudness."""
    split = [BANDS, 1, OSCILLATORS, OSCILLATORS, 1]
    gain, balance, octave, amplitude, loudness = given.split(split, 2)
    gain_t, balance_t, octave_t, amplitude_t, loudness_t = target.split(split, 2)
    sounding = amplitude_t / (amplitude_t + 0.01)
    return (
        (gain - gain_t).abs().mean()
        + (balance - balance_t).abs().mean()
        + 4 * ((octave - octave_t).abs() * (sounding + 0.02)).mean()
        + 12 * (amplitude - amplitude_t).abs().mean()
        + (loudness - loudness_t).abs().mean()
    )


def make_batch(tables, rng):
    """-> slots [B, 8, 48], chance [B, n, 6], controls [B, n, 38]."""
    chance = chance_features(torch.randn(BATCH, 2, WINDOW))
    classes, targets = [], []
    for curves in chance.numpy():
        said = write_caption(sample_scene(rng), rng)[1] if rng.random() > 0.05 else {}
        classes.append(class_numbers(said))
        targets.append(make_bed(said, curves))
    slots = [table[numbers] for table, numbers in zip(tables, torch.tensor(classes).T)]
    return torch.stack(slots, 1), chance, torch.from_numpy(np.stack(targets))


def save(checkpoints, controller, average, optimiser, step):
    """Writes everything that a later run needs to go on."""
    state = {
        "model": controller.state_dict(),
        "average": average.state_dict(),
        "optimiser": optimiser.state_dict(),
        "step": step,
    }
    torch.save(state, checkpoints / "sound-state.pt")

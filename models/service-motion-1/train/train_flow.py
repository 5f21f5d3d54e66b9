"""Training of a rectified flow over vectors, as clips and stills are. Resumable."""

import dataclasses
import pathlib
import time
from collections.abc import Callable

import numpy as np
import torch
from training_kit.training import short_products

from .captions import Chooser, write_caption
from .checkpoints import save_state
from .train_text_encoder import class_numbers
from .vocabulary import SLOTS

BATCH = 256
LEARNING_RATE = 1.5e-3
LAST_RATE_SHARE = 0.02
WARM_UP, DECAY_SHARE = 100, 0.6
AVERAGE = 0.998
SAVE_EVERY = 50
CAPTIONS = 4
"""How often every scene is given a caption: each leaves other attributes open."""
PROMPT_DROPOUT = 0.1


@dataclasses.dataclass(frozen=True)
class Flow:
    """What is trained, on what."""

    make: Callable[[], torch.nn.Module]
    velocity: Callable[..., torch.Tensor]
    """model, sample [B, n], timestep [B], what the batch has besides -> [B, n]."""
    batch: Callable[[], tuple[torch.Tensor, ...]]
    """-> vectors [B, n], and what the velocity depends on."""
    weights: torch.Tensor
    """Of the numbers' errors, [n]."""
    groups: dict[str, torch.Tensor]
    """Name -> which numbers' plain errors are shown."""


def train_flow(folder: pathlib.Path, flow: Flow, steps: int, seed: int = 0) -> None:
    """Writes denoiser.pt (running average) and denoiser-state.pt every 50 steps."""
    torch.manual_seed(seed)
    model, average = flow.make(), flow.make()
    average.load_state_dict(model.state_dict())
    optimiser = torch.optim.AdamW(model.parameters(), lr=LEARNING_RATE, betas=(0.9, 0.98), weight_decay=0.01)
    done = resume(folder, model, average, optimiser)
    torch.manual_seed(seed + done)
    started, losses = time.time(), []
    for step in range(done, steps):
        set_rate(optimiser, step, steps)
        loss, *plain = flow_losses(model, flow)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        with torch.no_grad():
            keep = min(AVERAGE, (step + 1) / (step + 31))
            torch._foreach_lerp_(list(average.parameters()), list(model.parameters()), 1 - keep)
        losses.append([loss.item(), *plain])
        if (step + 1) % SAVE_EVERY == 0 or step + 1 == steps:
            spent = time.time() - started
            left = spent / (step + 1 - done) * (steps - step - 1)
            means = np.mean(losses[-SAVE_EVERY:], 0)
            print(f"{step + 1}/{steps} {spent:.0f}s, {left:.0f}s left, loss {means[0]:.4f}", end=" ")
            print(*flow.groups, np.round(means[1:], 4).tolist(), flush=True)
            save_state(folder / "denoiser.pt", average.state_dict())
            state = {"model": model.state_dict(), "average": average.state_dict()}
            state |= {"optimiser": optimiser.state_dict(), "step": step + 1}
            save_state(folder / "denoiser-state.pt", state)


def set_rate(optimiser, step, steps):
    """Warm-up, plateau, linear fall."""
    decay = LAST_RATE_SHARE + (1 - LAST_RATE_SHARE) * min(1, (1 - step / steps) / DECAY_SHARE)
    for group in optimiser.param_groups:
        group["lr"] = LEARNING_RATE * min(1, (step + 1) / WARM_UP) * decay


def flow_losses(model, flow):
    """-> the loss, then plain mean squares of the groups; noise is time 1."""
    vectors, *given = flow.batch()
    time_of_item = torch.sigmoid(torch.randn(len(vectors)) * 1.2 + 0.2)
    share, noise = time_of_item[:, None], torch.randn_like(vectors)
    noisy = (1 - share) * vectors + share * noise
    with short_products():
        found = flow.velocity(model, noisy, time_of_item, *given)
    error = (found - (noise - vectors)).square()
    seen = error.detach().mean(0)
    return [(error * flow.weights).mean(), *[seen[numbers].mean().item() for numbers in flow.groups.values()]]


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


class Prompts:
    """What a few captions of every scene say, as slots."""

    def __init__(self, tables: list[torch.Tensor], classes: np.ndarray, seed: int = 11):
        """classes [n, 8]: of each scene."""
        self.tables = tables
        self.said = torch.from_numpy(said_classes(classes, Chooser(seed)))
        self.open = torch.tensor([len(table) - 1 for table in tables])

    def slots(self, rows: torch.Tensor) -> torch.Tensor:
        """[B, 8, 48] of one caption of each scene, or of none."""
        said = self.said[rows, torch.randint(CAPTIONS, rows.shape)].long()
        said = torch.where(torch.rand(len(rows), 1) < PROMPT_DROPOUT, self.open, said)
        return torch.stack([table[said[:, i]] for i, table in enumerate(self.tables)], 1)


def said_classes(classes: np.ndarray, rng: Chooser) -> np.ndarray:
    """[n, 4, 8] int8"""
    found = np.zeros((len(classes), CAPTIONS, len(SLOTS)), np.int8)
    for row, numbers in zip(found, classes.tolist()):
        scene = {name: values[number] for number, (name, values) in zip(numbers, SLOTS)}
        row[:] = [class_numbers(write_caption(scene, rng)[1]) for _ in range(CAPTIONS)]
    return found

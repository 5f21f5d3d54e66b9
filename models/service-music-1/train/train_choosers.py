"""Trains arranger, planner and composer on the teacher's pieces."""

import pathlib
import random

import numpy as np
import torch

from .attributes import draw_attributes
from .chooser import Chooser
from .contexts import ARRANGER, PLANNER, arranger_context, composer_form, player_numbers
from .make_pieces import hidden_wishes, load_rows
from .sizes import Size
from .training import train


def train_arranger(folder: pathlib.Path, steps: int, seed: int = 23) -> None:
    """Writes arranger.pt: wishes -> players, each step on new ensembles."""
    torch.manual_seed(seed)
    model = Chooser(ARRANGER)
    nothing = torch.zeros(256, 0, ARRANGER.voices, dtype=torch.long)

    def loss_of(step: int) -> torch.Tensor:
        rng = random.Random(seed * 1_000_003 + step)
        drawn = [draw_attributes(rng) for _ in range(256)]
        wishes = [arranger_context(one, hidden_wishes(one, rng)) for one in drawn]
        losses, _ = model.losses(nothing, torch.tensor(wishes), torch.tensor([player_numbers(one) for one in drawn]))
        return losses.sum(1).mean()

    train(folder, "arranger", model, loss_of, steps, 3e-3)


def train_planner(folder: pathlib.Path, steps: int, seed: int = 29) -> None:
    """Writes planner.pt: earlier bars -> the next bar's plan."""
    torch.manual_seed(seed)
    rows = load_rows(folder, ["bar_history", "bar_context", "plan"])
    model = Chooser(PLANNER)

    def loss_of(step: int) -> torch.Tensor:
        chosen = choose(len(rows["plan"]), 384, seed, step)
        inputs = whole(rows["bar_history"][chosen]), whole(rows["bar_context"][chosen])
        return model.losses(*inputs, whole(rows["plan"][chosen]))[0].sum(1).mean()

    train(folder, "planner", model, loss_of, steps, 2.5e-3)


def train_composer(folder: pathlib.Path, size: Size, seed: int = 31) -> None:
    """Writes composer.pt: earlier steps and the plan -> the tokens, loudnesses and delay of a step."""
    torch.manual_seed(seed)
    rows = load_rows(folder, ["history", "context", "tokens", "velocities", "delays"])
    model = Chooser(composer_form(size.composer_width))

    def loss_of(step: int) -> torch.Tensor:
        chosen = choose(len(rows["tokens"]), 640, seed, step)
        tokens = whole(rows["tokens"][chosen])
        losses, extras = model.losses(whole(rows["history"][chosen]), whole(rows["context"][chosen]), tokens)
        velocities = torch.from_numpy(rows["velocities"][chosen]).float() / 255
        delays = torch.from_numpy(rows["delays"][chosen]).float() / 255
        begins = (velocities > 0).float()
        loudness = ((extras[:, :-1] - velocities).pow(2) * begins).sum() / begins.sum().clamp(min=1)
        return losses.sum(1).mean() + 20 * loudness + 20 * (extras[:, -1] - delays).pow(2).mean()

    train(folder, "composer", model, loss_of, size.composer_steps, 2e-3)


def choose(count: int, batch: int, seed: int, step: int) -> np.ndarray:
    """Numbers of the rows of a step's batch."""
    return np.random.default_rng((seed, step)).integers(0, count, batch)


def whole(values: np.ndarray) -> torch.Tensor:
    """As int64."""
    return torch.from_numpy(values.astype(np.int64))

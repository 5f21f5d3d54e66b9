"""What every training does: batches of like length, a schedule, checkpoints that resume, progress."""

import pathlib
import time
from collections.abc import Callable

import numpy as np
import torch
from training_kit.training import short_products

SAVE_SECONDS = 40


def batches_of(counts: np.ndarray, size: int, seed: int) -> list[np.ndarray]:
    """Indexes of examples in batches of about `size` places, like lengths together, in random order."""
    source = np.random.default_rng(seed)
    order = np.argsort(counts + source.random(len(counts)) * 0.15 * counts, kind="stable")
    batches, batch, longest = [], [], 0
    for index in order:
        longest = max(longest, counts[index])
        if batch and longest * (len(batch) + 1) > size:
            batches.append(np.array(batch))
            batch, longest = [], counts[index]
        batch.append(index)
    batches.append(np.array(batch))
    source.shuffle(batches)
    return batches


def padded(rows: list[np.ndarray]) -> torch.Tensor:
    """[B, longest, ...] with zeros behind the ends."""
    result = np.zeros((len(rows), max(map(len, rows)), *rows[0].shape[1:]), rows[0].dtype)
    for index, row in enumerate(rows):
        result[index, : len(row)] = row
    return torch.from_numpy(result)


def save(path: pathlib.Path, state: dict) -> None:
    """Whole or not at all."""
    partial = path.with_suffix(".partial")
    torch.save(state, partial)
    partial.rename(path)


def train(
    name: str,
    folder: pathlib.Path,
    model: torch.nn.Module,
    epochs: int,
    batches: Callable[[int], list[np.ndarray]],
    loss_of: Callable[[np.ndarray], torch.Tensor],
    rate: float = 2e-3,
) -> None:
    """Adam with warm-up and a linear fall; `<name>.pt` holds weights, optimiser and place."""
    path = folder / f"{name}.pt"
    optimiser = torch.optim.AdamW(model.parameters(), rate, betas=(0.9, 0.98), weight_decay=0.01)
    begun = {"epoch": 0, "batch": 0, "step": 0}
    if path.exists():
        state = torch.load(path, weights_only=True)
        model.load_state_dict(state["model"])
        optimiser.load_state_dict(state["optimiser"])
        begun = state["place"]
    total = sum(len(batches(epoch)) for epoch in range(epochs))
    step, saved, started, first, mean = begun["step"], time.time(), time.time(), begun["step"], None
    for epoch in range(begun["epoch"], epochs):
        plan = batches(epoch)
        skipped = begun["batch"] if epoch == begun["epoch"] else 0
        for number in range(skipped, len(plan)):
            for group in optimiser.param_groups:
                group["lr"] = rate * min(1, (step + 1) / 100) * max(0.01, 1 - (step / total) ** 1.5)
            with short_products():
                loss = loss_of(plan[number])
            optimiser.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimiser.step()
            step += 1
            mean = loss.item() if mean is None else 0.98 * mean + 0.02 * loss.item()
            if time.time() - saved > SAVE_SECONDS or step == total:
                place = {"epoch": epoch, "batch": number + 1, "step": step}
                save(path, {"model": model.state_dict(), "optimiser": optimiser.state_dict(), "place": place})
                left = (time.time() - started) / (step - first) * (total - step)
                print(f"{name} {step}/{total} loss {mean:.4f}, {left:.0f} s left", flush=True)
                saved = time.time()

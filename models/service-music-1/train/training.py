"""Steps of a training: constant rate as long as wanted, then a finish in which it falls to nothing."""

import pathlib
import time
from collections.abc import Callable

import torch

WARM_UP = 40
FINISH = 0.3
"""Further steps of the finish, as a share of those before."""
SAVE_SECONDS = 30


def save_atomically(content: object, path: pathlib.Path) -> None:
    """Writes a file whole or not at all."""
    partial = path.with_suffix(".partial")
    torch.save(content, partial)
    partial.rename(path)


def load_trained(folder: pathlib.Path, name: str, model: torch.nn.Module) -> torch.nn.Module:
    """Finished weights, or else those of the last checkpoint; ready for inference."""
    for path in (folder / f"{name}.pt", folder / f"{name}-finish.pt", folder / f"{name}-steady.pt"):
        if path.exists():
            model.load_state_dict(torch.load(path)["model"])
            return model.eval().requires_grad_(False)
    raise FileNotFoundError(f"{folder} holds no {name}")


def train(
    folder: pathlib.Path,
    name: str,
    model: torch.nn.Module,
    loss_of: Callable[[int], torch.Tensor],
    steps: int,
    rate: float,
) -> None:
    """Writes NAME.pt. `loss_of(step)` must depend on the step and the seed alone.

    NAME-steady.pt holds the constant phase: with more `steps` a later run goes on there and finishes anew.
    """
    final = folder / f"{name}.pt"
    if final.exists() and torch.load(final)["steps"] >= steps:
        return
    run_phase(folder / f"{name}-steady.pt", model, loss_of, (0, steps), rate, lambda step: min(1, (step + 1) / WARM_UP))
    finish = folder / f"{name}-finish.pt"
    if finish.exists() and torch.load(finish)["first"] != steps:
        finish.unlink()
    last = steps + max(1, round(FINISH * steps))
    if not finish.exists():
        save_atomically({**torch.load(folder / f"{name}-steady.pt"), "first": steps}, finish)
    run_phase(finish, model, loss_of, (steps, last), rate, lambda step: (last - step) / (last - steps))
    save_atomically({"model": model.state_dict(), "steps": steps}, final)


def run_phase(
    path: pathlib.Path,
    model: torch.nn.Module,
    loss_of: Callable[[int], torch.Tensor],
    span: tuple[int, int],
    rate: float,
    schedule: Callable[[int], float],
) -> None:
    """Trains from where the checkpoint stands to the end of the span."""
    optimiser = torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=0.01)
    done = 0
    if path.exists():
        state = torch.load(path)
        model.load_state_dict(state["model"])
        optimiser.load_state_dict(state["optimiser"])
        done = state["done"]
    first, begun, saved, mean = done, time.monotonic(), time.monotonic(), 0.0
    for step in range(done, span[1]):
        for group in optimiser.param_groups:
            group["lr"] = rate * schedule(step)
        model.train()
        loss = loss_of(step)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        mean = loss.item() if step == first else 0.97 * mean + 0.03 * loss.item()
        if (step + 1) % 50 == 0 or step + 1 == span[1]:
            rest = (time.monotonic() - begun) / (step + 1 - first) * (span[1] - step - 1)
            print(f"{path.stem} {step + 1}/{span[1]} loss {mean:.4f} eta {rest:.0f} s", flush=True)
        if time.monotonic() - saved > SAVE_SECONDS or step + 1 == span[1]:
            state = {"model": model.state_dict(), "optimiser": optimiser.state_dict(), "done": step + 1, "first": span[0]}
            save_atomically(state, path)
            saved = time.monotonic()

"""Steps of a training: schedule, checkpoints that survive a kill, lines that say how far it is."""

import functools
import math
import pathlib
import time
from collections.abc import Callable

import torch


def save_atomically(content: object, path: pathlib.Path) -> None:
    """Writes a file whole or not at all."""
    partial = path.with_suffix(".partial")
    torch.save(content, partial)
    partial.rename(path)


@functools.cache
def product_type(device: str = "cpu") -> torch.dtype:
    """What matrices are multiplied in: bfloat16, but float32 on processors that imitate it, thirty times slower."""
    own = device != "cpu" or (torch.backends.mkldnn.is_available() and torch.ops.mkldnn._is_mkldnn_bf16_supported())
    return torch.bfloat16 if own else torch.float32


def short_products(device: str = "cpu") -> torch.autocast:
    """Within it matrices are multiplied in `product_type`."""
    return torch.autocast(device, dtype=torch.bfloat16, enabled=product_type(device) == torch.bfloat16)


class Training:
    """A run of `steps` steps that goes on where a killed one stopped."""

    def __init__(
        self, model: torch.nn.Module, optimiser: torch.optim.Optimizer, path: pathlib.Path, steps: int
    ) -> None:
        self.model, self.optimiser, self.path, self.steps = model, optimiser, path, steps
        self.rates = [group["lr"] for group in optimiser.param_groups]
        self.done = 0
        if path.exists():
            state = torch.load(path)
            model.load_state_dict(state["model"])
            optimiser.load_state_dict(state["optimiser"])
            self.done = state["done"]

    def run(
        self, loss_of: Callable[[int], torch.Tensor], check: Callable[[], str] | None = None, every: int = 50
    ) -> None:
        """Trains to the end. `loss_of(step)` must depend on the step and the seed alone."""
        begun, first, mean = time.monotonic(), self.done, 0.0
        for step in range(self.done, self.steps):
            for group, rate in zip(self.optimiser.param_groups, self.rates, strict=True):
                group["lr"] = rate * schedule(step, self.steps)
            self.model.train()
            loss = loss_of(step)
            self.optimiser.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            self.optimiser.step()
            self.done = step + 1
            mean = loss.item() if step == first else 0.95 * mean + 0.05 * loss.item()
            if self.done % every == 0 or self.done == self.steps:
                rest = (time.monotonic() - begun) / (self.done - first) * (self.steps - self.done)
                self.save()
                print(f"{self.path.stem} {self.done}/{self.steps} loss {mean:.4f} eta {rest:.0f} s", flush=True)
            if check is not None and (self.done % (10 * every) == 0 or self.done == self.steps):
                self.model.eval()
                print(f"{self.path.stem} {self.done} {check()}", flush=True)

    def save(self) -> None:
        """Everything that a later run needs to go on."""
        state = {"model": self.model.state_dict(), "optimiser": self.optimiser.state_dict(), "done": self.done}
        save_atomically(state, self.path)


def schedule(step: int, steps: int) -> float:
    """Factor of the learning rate: a short rise, then a cosine to a fiftieth."""
    return min(1.0, (step + 1) / 40) * (0.02 + 0.98 * (0.5 + 0.5 * math.cos(math.pi * step / steps)))

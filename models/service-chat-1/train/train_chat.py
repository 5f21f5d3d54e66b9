"""Trains the model: a steady rate for as long as there is time, then a short fall of the rate to nothing."""

import dataclasses
import pathlib
import time

import torch
from tokenizers import Tokenizer
from torch.nn import functional
from training_kit.training import save_atomically

from .batches import HELD_OUT_SEEDS, batch
from .model import ChatModel
from .muon import Muon
from .sizes import Size

MATRIX_RATE, TABLE_RATE, SCALAR_RATE = 0.02, 0.004, 0.004
WARM_UP = 60
AVERAGE = 0.995
EVERY, CHECK_EVERY, CHECKED = 20, 200, 200
STEADY, FINISHED = "training.pt", "finished.pt"


class ChatTraining:
    """Model, optimisers and a running average of the weights; everything that a later run needs is in one file."""

    def __init__(self, folder: pathlib.Path, size: Size, device: str = "cpu") -> None:
        torch.manual_seed(1)
        self.folder, self.size, self.device = folder, size, device
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.model = ChatModel(size).to(device)
        named = dict(self.model.named_parameters())
        matrices = [weight for name, weight in named.items() if weight.dim() == 2 and name != "table"]
        scalars = [weight for weight in named.values() if weight.dim() != 2]
        groups = [{"params": [self.model.table], "lr": TABLE_RATE}, {"params": scalars, "lr": SCALAR_RATE}]
        self.optimisers = [Muon(matrices, MATRIX_RATE), torch.optim.Adam(groups, betas=(0.9, 0.98), eps=1e-10)]
        self.rates = [[group["lr"] for group in one.param_groups] for one in self.optimisers]
        self.average = {name: weight.detach().clone() for name, weight in named.items()}
        self.done = 0
        """Steps at the steady rate, and steps of the fall, if that has begun."""
        self.fallen = 0
        self.mean, self.tokens = 0.0, 0

    def load(self, path: pathlib.Path) -> None:
        state = torch.load(path, map_location=self.device)
        self.model.load_state_dict(state["model"])
        for optimiser, one in zip(self.optimisers, state["optimisers"], strict=True):
            optimiser.load_state_dict(one)
        self.average = state["average"]
        self.done, self.fallen, self.mean, self.tokens = (state[key] for key in ("done", "fallen", "mean", "tokens"))

    def save(self, path: pathlib.Path) -> None:
        optimisers = [optimiser.state_dict() for optimiser in self.optimisers]
        counts = {"done": self.done, "fallen": self.fallen, "mean": self.mean, "tokens": self.tokens}
        save_atomically(
            {"model": self.model.state_dict(), "optimisers": optimisers, "average": self.average, **counts}, path
        )

    def step(self, factor: float) -> None:
        """One update; the conversations depend on the number of the step alone."""
        for optimiser, rates in zip(self.optimisers, self.rates, strict=True):
            for group, rate in zip(optimiser.param_groups, rates, strict=True):
                group["lr"] = rate * factor
        loss = self.learn(batch(self.tokenizer, self.done + self.fallen, self.size))
        for optimiser in self.optimisers:
            optimiser.step()
            optimiser.zero_grad(set_to_none=True)
        self.mean = loss if self.done + self.fallen == 0 else 0.97 * self.mean + 0.03 * loss
        with torch.no_grad():
            share = 1 - min(AVERAGE, (self.done + 1) / (self.done + 10))
            for name, weight in self.model.named_parameters():
                self.average[name].lerp_(weight, share)

    def learn(self, parts: list[tuple[torch.Tensor, torch.Tensor]]) -> float:
        """Gradients of the mean loss over the words of the assistant."""
        count = sum(int(learned[:, 1:].sum()) for _, learned in parts)
        total = 0.0
        for ids, learned in parts:
            loss = self.loss(ids.to(self.device), learned.to(self.device)) / count
            loss.backward()
            total += loss.item()
            self.tokens += ids.numel()
        return total

    def loss(self, ids: torch.Tensor, learned: torch.Tensor) -> torch.Tensor:
        """Sum of the cross entropies of the words that are to be learned."""
        with torch.autocast(self.device, dtype=torch.bfloat16):
            hidden = self.model.hidden(ids[:, :-1])[learned[:, 1:]]
            logits = self.model.logits(hidden)
        return functional.cross_entropy(logits.float(), ids[:, 1:][learned[:, 1:]], reduction="sum")

    @torch.no_grad()
    def check(self) -> float:
        """Loss of the averaged weights on conversations of other seeds."""
        own = {name: weight.clone() for name, weight in self.model.named_parameters()}
        self.model.load_state_dict(self.average)
        parts = batch(self.tokenizer, HELD_OUT_SEEDS, dataclasses.replace(self.size, conversations=CHECKED))
        count = sum(int(learned[:, 1:].sum()) for _, learned in parts)
        loss = sum(self.loss(ids.to(self.device), learned.to(self.device)).item() for ids, learned in parts) / count
        self.model.load_state_dict(own)
        return loss


def train_chat(folder: pathlib.Path, size: Size, steps: int, device: str = "cpu") -> None:
    """Goes on at the steady rate until `steps` are done."""
    training = ChatTraining(folder, size, device)
    if (folder / STEADY).exists():
        training.load(folder / STEADY)
    begun, first = time.monotonic(), training.done
    while training.done < steps:
        training.step(min(1.0, (training.done + 1) / WARM_UP))
        training.done += 1
        if training.done % EVERY == 0 or training.done == steps:
            training.save(folder / STEADY)
            report(training, "steady", (training.done, steps), (time.monotonic() - begun) / (training.done - first))
        if training.done % CHECK_EVERY == 0:
            print(f"steady {training.done} other conversations {training.check():.4f}", flush=True)


def finish_chat(folder: pathlib.Path, size: Size, device: str = "cpu") -> None:
    """From the steady checkpoint, which stays as it is, or on where a killed fall stopped."""
    training = ChatTraining(folder, size, device)
    training.load(folder / STEADY)
    steady = training.done
    if (folder / FINISHED).exists():
        training.load(folder / FINISHED)
        if training.done != steady:
            training.load(folder / STEADY)
    begun, first = time.monotonic(), training.fallen
    while training.fallen < size.decay:
        training.step(1 - training.fallen / size.decay)
        training.fallen += 1
        if training.fallen % EVERY == 0 or training.fallen == size.decay:
            training.save(folder / FINISHED)
            report(
                training, "fall", (training.fallen, size.decay), (time.monotonic() - begun) / (training.fallen - first)
            )
    print(f"fall {training.fallen} other conversations {training.check():.4f}", flush=True)


def report(training: ChatTraining, name: str, steps: tuple[int, int], seconds: float) -> None:
    """A line that says how far it is."""
    done, of = steps
    print(
        f"{name} {done}/{of} loss {training.mean:.4f} tokens {training.tokens / 1e6:.2f} M"
        f" {seconds:.2f} s a step eta {seconds * (of - done):.0f} s cpu {time.process_time():.0f} s",
        flush=True,
    )

"""Trains the model: a steady rate for as long as there is time, then a short fall of the rate to nothing."""

import dataclasses
import json
import pathlib
import time

import torch
from torch import distributed
from tokenizers import Tokenizer
from torch.nn import functional
from training_kit.training import save_atomically, short_products

from .batches import HELD_OUT_SEEDS, Part, batch
from .byte_weights import read_weights
from .model import ChatModel
from .muon import Muon
from .sizes import Size

MATRIX_RATE, TABLE_RATE, SCALAR_RATE = 0.02, 0.004, 0.004
WARM_UP = 60
AVERAGE = 0.995
EVERY, CHECK_EVERY, CHECKED = 20, 200, 200
STEADY, FINISHED = "training.pt", "finished.pt"
COUNTS = ("begun", "done", "fallen", "mean", "tokens")


def processes() -> int:
    """That learn together, each from a share of every step; 1 where the recipe was not begun by torchrun."""
    return distributed.get_world_size() if distributed.is_initialized() else 1


def rank() -> int:
    """Of this process among them."""
    return distributed.get_rank() if distributed.is_initialized() else 0


def wait_for_all() -> None:
    """Until every process is here: what one wrote, the others may read then."""
    if distributed.is_initialized():
        distributed.barrier()


def shares(parts: list[Part], count: int) -> list[list[Part]]:
    """The parts of a step for each of `count` processes, with about as many tokens each: they wait for the slowest."""
    whole: list[list[Part]] = [[] for _ in range(count)]
    for part in sorted(parts, key=lambda part: -part[0].numel()):
        min(whole, key=lambda share: sum(ids.numel() for ids, _ in share)).append(part)
    return whole


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
        self.begun = 0
        """Steps of the package that it began from."""
        self.mean, self.tokens = 0.0, 0

    def load(self, path: pathlib.Path) -> None:
        state = torch.load(path, map_location=self.device)
        self.model.load_state_dict(state["model"])
        for optimiser, one in zip(self.optimisers, state["optimisers"], strict=True):
            optimiser.load_state_dict(one)
        self.average = state["average"]
        self.begun, self.done, self.fallen, self.mean, self.tokens = (state[key] for key in COUNTS)

    def begin_from(self, package: pathlib.Path) -> None:
        """The weights of a package, whose steps count as done: conversations that it learned from do not come again."""
        weights = {name: torch.from_numpy(one.copy()) for name, one in read_weights(package / "model.onnx").items()}
        self.model.load_state_dict(weights)
        self.average = {name: weight.detach().clone() for name, weight in self.model.named_parameters()}
        counts = json.loads((package / "config.json").read_text())["training"]
        self.begun = self.done = counts["done"] + counts["fallen"]
        self.tokens = counts["tokens"]

    def save(self, path: pathlib.Path) -> None:
        if rank() == 0:
            optimisers = [optimiser.state_dict() for optimiser in self.optimisers]
            counts = {key: getattr(self, key) for key in COUNTS}
            save_atomically(
                {"model": self.model.state_dict(), "optimisers": optimisers, "average": self.average, **counts}, path
            )
        wait_for_all()

    def step(self, factor: float) -> None:
        """One update; the conversations depend on the number of the step alone."""
        for optimiser, rates in zip(self.optimisers, self.rates, strict=True):
            for group, rate in zip(optimiser.param_groups, rates, strict=True):
                group["lr"] = rate * factor
        loss = self.learn(batch(self.tokenizer, self.done + self.fallen, self.size))
        for optimiser in self.optimisers:
            optimiser.step()
            optimiser.zero_grad(set_to_none=True)
        self.mean = loss if self.done + self.fallen == self.begun else 0.97 * self.mean + 0.03 * loss
        with torch.no_grad():
            done = self.done - self.begun
            share = 1 - min(AVERAGE, (done + 1) / (done + 10))
            for name, weight in self.model.named_parameters():
                self.average[name].lerp_(weight, share)

    def learn(self, parts: list[Part]) -> float:
        """Gradients of the mean loss over the words of the assistant."""
        count = sum(int(learned[:, 1:].sum()) for _, learned in parts)
        self.tokens += sum(ids.numel() for ids, _ in parts)
        total = torch.zeros(1, device=self.device)
        for ids, learned in shares(parts, processes())[rank()]:
            loss = self.loss(ids.to(self.device), learned.to(self.device)) / count
            loss.backward()
            total += loss.detach()
        if processes() > 1:
            self.add_up(total)
        return total.item()

    def add_up(self, total: torch.Tensor) -> None:
        """Gradients and loss of all processes, in place."""
        weights = list(self.model.parameters())
        for weight in weights:
            if weight.grad is None:
                weight.grad = torch.zeros_like(weight)
        whole = torch.cat([total, *(weight.grad.flatten() for weight in weights)])
        distributed.all_reduce(whole)
        total.copy_(whole[:1])
        at = 1
        for weight in weights:
            weight.grad.copy_(whole[at : at + weight.numel()].view_as(weight))
            at += weight.numel()

    def loss(self, ids: torch.Tensor, learned: torch.Tensor) -> torch.Tensor:
        """Sum of the cross entropies of the words that are to be learned."""
        with short_products(self.device):
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


def train_chat(
    folder: pathlib.Path, size: Size, steps: int, device: str = "cpu", package: pathlib.Path | None = None
) -> None:
    """Goes on at the steady rate until `steps` are done; begins from the weights of a package, if there is one."""
    training = ChatTraining(folder, size, device)
    if (folder / STEADY).exists():
        training.load(folder / STEADY)
    elif package is not None:
        training.begin_from(package)
    begun, first = time.monotonic(), training.done
    while training.done < steps:
        training.step(min(1.0, (training.done - training.begun + 1) / WARM_UP))
        training.done += 1
        if training.done % EVERY == 0 or training.done == steps:
            training.save(folder / STEADY)
            report(training, "steady", (training.done, steps), (time.monotonic() - begun) / (training.done - first))
        if training.done % CHECK_EVERY == 0:
            print_once(f"steady {training.done} other conversations {training.check():.4f}")


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
    print_once(f"fall {training.fallen} other conversations {training.check():.4f}")


def report(training: ChatTraining, name: str, steps: tuple[int, int], seconds: float) -> None:
    """A line that says how far it is."""
    done, of = steps
    print_once(
        f"{name} {done}/{of} loss {training.mean:.4f} tokens {training.tokens / 1e6:.2f} M"
        f" {seconds:.2f} s a step eta {seconds * (of - done):.0f} s cpu {time.process_time():.0f} s"
    )


def print_once(line: str) -> None:
    """From one of the processes."""
    if rank() == 0:
        print(line, flush=True)

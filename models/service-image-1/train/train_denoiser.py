"""Trains the denoiser by rectified flow on stored vectors. Resumable; about twenty core-minutes."""

import pathlib
import time

import numpy as np
import torch
from motion.captions import Chooser, write_caption
from motion.checkpoints import save_state
from motion.vocabulary import SLOTS

from .checkpoints import load_part, save_part
from .denoiser import StillDenoiser
from .latents import channel_weights
from .peers import Peer
from .shapes import part_slices

BATCH = 256
LEARNING_RATE = 1.5e-3
LAST_RATE_SHARE = 0.02
WARM_UP, DECAY_SHARE = 100, 0.6
PROMPT_DROPOUT = 0.1
SLOT_NOISE = 0.05
"""Deviation added to the slots: real prompts are not as clean as class means."""
AVERAGE = 0.998
SAVE_EVERY = 50
SHARE_EVERY = 10
CAPTIONS = 4
"""How often every still is given a caption: each leaves other attributes open."""
GROUPS = {
    "canvas": ("sky", "profile"),
    "layers": ("band", "tile_look"),
    "sprite": ("sprite", "sprite"),
    "place": ("place", "place"),
}


def train_denoiser(folder: pathlib.Path, steps: int, seed: int = 0, peer: Peer | None = None) -> None:
    """Writes denoiser.pt (running average) and denoiser-state.pt every 50 steps.

    peer: where several processes train side by side, each with a folder of its own.
    """
    torch.manual_seed(0)
    stills = Stills(folder)
    model, average = StillDenoiser(), StillDenoiser()
    average.load_state_dict(model.state_dict())
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-3, betas=(0.9, 0.98), weight_decay=0.01)
    folder = peer.own_folder if peer else folder
    done = resume(folder, model, average, optimiser)
    torch.manual_seed(seed + done)
    started, losses = time.time(), []
    for step in range(done, steps):
        set_rate(optimiser, step, steps)
        parts = flow_losses(model, *stills.batch())
        optimiser.zero_grad(set_to_none=True)
        parts[0].backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        with torch.no_grad():
            keep = min(AVERAGE, (step + 1) / (step + 31))
            torch._foreach_lerp_(list(average.parameters()), list(model.parameters()), 1 - keep)
        losses.append([part.item() for part in parts])
        if peer and (step + 1) % SHARE_EVERY == 0:
            peer.average(model, step + 1)
        if (step + 1) % SAVE_EVERY == 0 or step + 1 == steps:
            spent = time.time() - started
            left = spent / (step + 1 - done) * (steps - step - 1)
            means = np.mean(losses[-SAVE_EVERY:], 0)
            print(f"{step + 1}/{steps} {spent:.0f}s, {left:.0f}s left, loss {means[0]:.4f}", end=" ")
            print(*GROUPS, np.round(means[1:], 4).tolist(), flush=True)
            save_part(folder, "denoiser", average)
            state = {"model": model.state_dict(), "average": average.state_dict()}
            state |= {"optimiser": optimiser.state_dict(), "step": step + 1}
            save_state(folder / "denoiser-state.pt", state)


def set_rate(optimiser, step, steps):
    """Warm-up, plateau, linear fall."""
    decay = LAST_RATE_SHARE + (1 - LAST_RATE_SHARE) * min(1, (1 - step / steps) / DECAY_SHARE)
    for group in optimiser.param_groups:
        group["lr"] = LEARNING_RATE * min(1, (step + 1) / WARM_UP) * decay


def flow_losses(model, vectors, slots, aspect):
    """-> the loss, then plain mean squares of the groups; noise is time 1."""
    time_of_item = torch.sigmoid(torch.randn(len(vectors)) * 1.2 + 0.2)
    share, noise = time_of_item[:, None], torch.randn_like(vectors)
    noisy = (1 - share) * vectors + share * noise
    error = (model.velocity(noisy, time_of_item, slots, aspect) - (noise - vectors)).square()
    places, detached = part_slices(), error.detach().mean(0)
    plain = [detached[places[a].start : places[b].stop].mean() for a, b in GROUPS.values()]
    return [(error * WEIGHTS).mean(), *plain]


WEIGHTS = channel_weights()


class Stills:
    """The stored stills, each with a few captions' worth of stated attributes."""

    def __init__(self, folder: pathlib.Path):
        paths = [path for path in sorted(folder.glob("latents-*.npz")) if ".partial" not in path.name]
        stored = [np.load(path) for path in paths]
        joined = {name: np.concatenate([item[name] for item in stored]) for name in stored[0].files}
        self.vectors = torch.from_numpy(joined["vectors"])
        self.aspect = torch.from_numpy(np.log(joined["widths"])).float()
        self.classes = torch.from_numpy(joined["classes"])
        self.tables = load_part(folder, "text-encoder").tables()
        self.open = torch.tensor([len(table) - 1 for table in self.tables])
        self.stated = load_masks(folder, joined["classes"])

    def batch(self):
        """-> vectors [B, 379], slots [B, 8, 48], log aspects [B]."""
        rows = torch.randint(len(self.vectors), (BATCH,))
        stated = self.stated[rows, torch.randint(CAPTIONS, (BATCH,))].clone()
        stated &= (torch.rand(BATCH) > PROMPT_DROPOUT)[:, None]
        classes = torch.where(stated, self.classes[rows], self.open)
        slots = torch.stack([table[classes[:, i]] for i, table in enumerate(self.tables)], 1)
        slots = slots + SLOT_NOISE * torch.randn_like(slots)
        return self.vectors[rows].float(), slots, self.aspect[rows]


def load_masks(folder: pathlib.Path, classes: np.ndarray) -> torch.Tensor:
    """stated_masks, made once."""
    path = folder / f"stated-{len(classes)}.pt"
    if not path.exists():
        save_state(path, stated_masks(classes))
    return torch.load(path)


def stated_masks(classes: np.ndarray, seed: int = 11) -> torch.Tensor:
    """Which attributes random captions of each scene state, [n, 4, 8] bool."""
    rng, names = Chooser(seed), [name for name, _ in SLOTS]
    masks = np.zeros((len(classes), CAPTIONS, len(SLOTS)), bool)
    for row, numbers in enumerate(classes.tolist()):
        scene = {name: list(values)[number] for number, (name, values) in zip(numbers, SLOTS)}
        for caption in range(CAPTIONS):
            stated = write_caption(scene, rng)[1]
            masks[row, caption] = [name in stated for name in names]
    return torch.from_numpy(masks)


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

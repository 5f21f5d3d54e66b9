"""Trains the judge: thirteen sigmoids, vectors of the tokens disturbed."""

import pathlib
from collections.abc import Callable

import numpy as np
import torch
from sklearn.metrics import roc_auc_score
from torch import nn
from torch.nn import functional as F
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn
from training_kit.subwords import load_tokenizer
from training_kit.training import Training, save_atomically

from .corpus import Sentences
from .held_out import benign_rows, flagged_rows
from .model import Judge
from .sentences import CATEGORIES
from .sizes import Size

NOISE, DROPPED, SMOOTHED, KEPT = 0.6, 0.2, 0.02, 0.99
"""Strength of the noise on token vectors relative to their own size; share of tokens that are left out; doubt in a label;
how much of the average of the weights a step keeps."""
TUNING_SEED = 83
Check = Callable[[nn.Module], str]
SEEDS = (73, 74, 75)
"""Of the trainings; their mean is shipped."""


def make_judge(size: Size, vocabulary: int) -> Judge:
    """The judge of a size, untrained."""
    return Judge(vocabulary, size.width, size.inner, size.layers, len(CATEGORIES))


class Averaged(nn.Module):
    """A judge in training, and a moving average of its weights, which is what is kept."""

    def __init__(self, judge: Judge) -> None:
        super().__init__()
        self.judge = judge
        self.average = AveragedModel(judge, multi_avg_fn=get_ema_multi_avg_fn(KEPT))


def train_judges(folder: pathlib.Path, size: Size) -> None:
    """Writes judge-SEED.pt of every seed."""
    data, check = Sentences(folder), auc_check(folder)
    for seed in SEEDS:
        if not (folder / f"judge-{seed}.pt").exists():
            train_judge(folder, size, seed, data, check)


def train_judge(folder: pathlib.Path, size: Size, seed: int, data: Sentences, check: Check) -> None:
    """The table keeps what the relations of WordNet say: it is not trained."""
    torch.manual_seed(seed)
    table = torch.from_numpy(np.load(folder / "table.npy"))
    judge = make_judge(size, len(table))
    judge.table.weight.data = table / table.norm(dim=1, keepdim=True).clamp_min(1e-6)
    judge.table.weight.requires_grad_(False)
    rest = [value for name, value in judge.named_parameters() if name != "table.weight"]
    optimiser = torch.optim.AdamW(rest, lr=size.rate, weight_decay=0.02)
    both = Averaged(judge)
    training = Training(both, optimiser, folder / f"training-{seed}.pt", size.steps)

    def loss_of(step: int) -> torch.Tensor:
        both.average.update_parameters(judge)
        return sigmoid_loss(judge, data, size.batch, (seed, step))

    training.run(loss_of, lambda: check(both.average), 30)
    save_atomically(both.average.module.state_dict(), folder / f"judge-{seed}.pt")


def sigmoid_loss(judge: Judge, data: Sentences, batch: int, at: tuple[int, int]) -> torch.Tensor:
    """Binary cross-entropy of all categories."""
    torch.manual_seed(at[0] * 1_000_003 + at[1])
    ids, labels = data.draw(batch, *at)
    vectors = judge.table(ids)
    size = vectors.detach().norm(dim=2, keepdim=True) * vectors.shape[2] ** -0.5
    mask = (ids > 0) & ((torch.rand(ids.shape) >= DROPPED) | (ids == 2))
    logits = judge.read(vectors + NOISE * size * torch.randn_like(vectors), mask.float())
    wanted = labels * (1 - SMOOTHED) + SMOOTHED / 2
    return F.binary_cross_entropy_with_logits(logits, wanted) * len(CATEGORIES)


def auc_check(folder: pathlib.Path) -> Check:
    """How the judge stands on templates and words that training never had, other templates than the tests'."""
    tokenizer = load_tokenizer(folder / "tokenizer.json")
    tokenizer.enable_padding(pad_id=0)
    rows = flagged_rows("tuning", TUNING_SEED, 20) + benign_rows("tuning", TUNING_SEED, 200)
    ids = torch.tensor([row.ids for row in tokenizer.encode_batch([row["text"] for row in rows])])
    labels = torch.tensor([[float(name in row["categories"]) for name in CATEGORIES] for row in rows])

    def check(judge: nn.Module) -> str:
        with torch.no_grad():
            scores = judge(ids, (ids > 0).long()).sigmoid()
        areas = [roc_auc_score(labels[:, at], scores[:, at]) for at in range(len(CATEGORIES))]
        wrong = (scores[labels.sum(1) == 0].amax(1) >= 0.5).float().mean()
        found = (scores[labels.sum(1) > 0].amax(1) >= 0.5).float().mean()
        listed = " ".join(f"{name} {area:.3f}" for name, area in zip(CATEGORIES, areas, strict=True))
        return f"AUC least {min(areas):.3f}; flagged: {found:.3f}, of harmless {wrong:.3f}; {listed}"

    return check

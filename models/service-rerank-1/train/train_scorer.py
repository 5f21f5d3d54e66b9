"""Trains the scorer: the right passage of a group above the wrong ones, and each for itself."""

import pathlib

import numpy as np
import torch
from torch.nn import functional as F
from training_kit.training import Training, save_atomically

from .groups import Groups
from .model import PairScorer
from .sizes import Size
from .tuning import ranking_check

START, END = 2, 3
SINGLE_SHARE = 0.5


def make_scorer(size: Size, vocabulary: int) -> PairScorer:
    """The scorer of a size, untrained."""
    return PairScorer(vocabulary, size.width, size.inner, size.layers)


def train_scorer(folder: pathlib.Path, embedder: pathlib.Path, size: Size, seed: int = 43) -> None:
    """Writes scorer.pt."""
    torch.manual_seed(seed)
    weights = torch.load(embedder / "words-0.pt")[:, : size.width]
    scorer = make_scorer(size, len(weights))
    scorer.table.weight.data = weights.clone()
    scorer.importance.weight.data = weights.norm(dim=1, keepdim=True).clamp_min(1e-3).log()
    slow = [scorer.table.weight]
    fast = [value for name, value in scorer.named_parameters() if name != "table.weight"]
    groups = [{"params": slow, "lr": size.rate / 5}, {"params": fast, "lr": size.rate}]
    training = Training(scorer, torch.optim.Adam(groups), folder / "training.pt", size.steps)
    data, check = Groups(folder), ranking_check(embedder)
    training.run(lambda step: group_loss(scorer, data, size, (seed, step)), lambda: check(scorer), 20)
    save_atomically(scorer.state_dict(), folder / "scorer.pt")


def group_loss(scorer: PairScorer, data: Groups, size: Size, at: tuple[int, int]) -> torch.Tensor:
    """Softmax within the groups, and the sigmoid of every pair."""
    queries, passages = data.draw(size.batch, size.wrong, *at)
    left, right = np.repeat(queries, passages.shape[1]), passages.ravel()
    lengths = np.diff(data.bank.starts)
    order = np.argsort(lengths[left] + lengths[right], kind="stable")
    parts = [scorer(*pack(data, left[part], right[part])) for part in np.array_split(order, 4)]
    logits = torch.cat(parts)[torch.from_numpy(np.argsort(order, kind="stable"))].view(passages.shape)
    wanted = torch.zeros_like(logits)
    wanted[:, 0] = 1
    single = F.binary_cross_entropy_with_logits(logits, wanted)
    return F.cross_entropy(logits, torch.zeros(len(logits), dtype=torch.long)) + SINGLE_SHARE * single


def pack(data: Groups, left: np.ndarray, right: np.ndarray) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Ids, mask and types [pairs, longest]."""
    rows = [(data.bank.ids(a), data.bank.ids(b)) for a, b in zip(left, right, strict=True)]
    shape = (len(rows), max(len(a) + len(b) for a, b in rows) + 3)
    ids, types = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    for at, (first, second) in enumerate(rows):
        row = [START, *first, END, *second, END]
        ids[at, : len(row)] = row
        types[at, len(first) + 2 : len(row)] = 1
    tensor = torch.from_numpy(ids)
    return tensor, (tensor > 0).long(), torch.from_numpy(types)

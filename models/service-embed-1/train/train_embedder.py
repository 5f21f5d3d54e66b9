"""Contrastive training: tables of token vectors alone, then layers over their mean; the encoder is the mean of these."""

import pathlib

import numpy as np
import torch
from torch.nn import functional as F
from training_kit.encoder import TextEncoder, unit
from training_kit.knowledge import FIRST_SUBJECT
from training_kit.training import Training, save_atomically

from .corpus import VOCABULARY, Pairs
from .sizes import Size
from .tuning import Tuning, related_first

START, END = 2, 3
TEMPERATURE = 0.05
SUBJECT_SHARE = 0.15
DROPPED = 0.15
"""Share of the tokens that a step leaves out, so that every token has to carry its meaning."""
LENGTHS = ((256, 1.0), (64, 0.5))
"""Leading numbers of the vectors that are trained to serve alone, and their share of the loss."""


def make_encoder(size: Size) -> TextEncoder:
    """The encoder of a size, untrained."""
    return TextEncoder(VOCABULARY, size.width, size.inner, size.layers)


TABLES, ENCODERS = 4, 2
"""Trainings that draw other batches; the weights of either are averaged."""
LAYER_SEED = 12
"""Of the layers' first values: layers that begin apart are no good to average."""


def train_embedder(folder: pathlib.Path, size: Size) -> None:
    """Writes encoder.pt."""
    pairs, tuning = Pairs(folder), related_first(folder)
    for run in range(TABLES):
        if not (folder / f"words-{run}.pt").exists():
            train_static(folder, size, run, pairs, tuning)
    words = mean_of([torch.load(folder / f"words-{run}.pt") for run in range(TABLES)])
    for run in range(ENCODERS):
        if not (folder / f"encoder-{run}.pt").exists():
            train_layers(folder, size, run, words, pairs, tuning)
    encoders = [torch.load(folder / f"encoder-{run}.pt") for run in range(ENCODERS)]
    save_atomically({name: mean_of([one[name] for one in encoders]) for name in encoders[0]}, folder / "encoder.pt")


def mean_of(weights: list[torch.Tensor]) -> torch.Tensor:
    """Of weights of one shape."""
    return torch.stack(weights).mean(0)


def train_static(folder: pathlib.Path, size: Size, run: int, pairs: Pairs, tuning: Tuning) -> None:
    """Writes words-0.pt, the table after its own training."""
    table = torch.nn.Embedding.from_pretrained(torch.from_numpy(np.load(folder / "table.npy")), freeze=False)
    words, seed = TableOnly(table), 11 + 2 * run
    optimiser = torch.optim.Adam([{"params": [table.weight], "lr": size.table_rate}], fused=True)
    Training(words, optimiser, folder / f"static-{run}.pt", size.static_steps).run(
        lambda step: static_loss(words, pairs, size.static_batch, (seed, step)),
        lambda: tuning(lambda ids: unit(table(ids).sum(1))),
    )
    save_atomically(table.weight.detach(), folder / f"words-{run}.pt")


def train_layers(folder: pathlib.Path, size: Size, run: int, words: torch.Tensor, pairs: Pairs, tuning: Tuning) -> None:
    """Writes encoder-0.pt: the table `words` [V, W], at a quarter of its rate, and the layers over it."""
    seed = 72 + 2 * run
    torch.manual_seed(LAYER_SEED)
    encoder = make_encoder(size)
    encoder.table.weight.data = words.clone()
    groups = [
        {"params": [encoder.table.weight], "lr": size.table_rate / 4},
        {"params": list(encoder.layers.parameters()), "lr": size.layer_rate},
    ]
    Training(encoder, torch.optim.Adam(groups, fused=True), folder / f"layers-{run}.pt", size.steps).run(
        lambda step: layered_loss(encoder, pairs, size.batch, (seed, step)),
        lambda: tuning(lambda ids: encoder(ids, (ids > 0).float())),
        25,
    )
    save_atomically(encoder.state_dict(), folder / f"encoder-{run}.pt")


class TableOnly(torch.nn.Module):
    """The table as a module of its own; id 0 is padding."""

    def __init__(self, table: torch.nn.Embedding) -> None:
        super().__init__()
        self.table = table


def static_loss(table: TableOnly, pairs: Pairs, batch: int, at: tuple[int, int]) -> torch.Tensor:
    """Sums of the tokens' vectors."""
    torch.manual_seed(at[0] * 1_000_003 + at[1])
    texts = pairs.draw(batch, *at)
    traps = pairs.draw_traps(texts, *at)
    left, right = bag(table, pairs, texts[:, 0]), bag(table, pairs, np.concatenate([texts[:, 1], traps]))
    return contrast(left, right, texts, 0.0)


def bag(table: TableOnly, pairs: Pairs, numbers: np.ndarray) -> torch.Tensor:
    """[texts, width]."""
    rows = [pairs.bank.ids(number) for number in numbers]
    starts = np.cumsum([0, *(len(row) for row in rows[:-1])])
    flat = torch.from_numpy(np.concatenate(rows)).long()
    kept = (torch.rand(len(flat)) >= DROPPED).float()
    weights = table.table.weight
    return F.embedding_bag(flat, weights, torch.from_numpy(starts), mode="sum", per_sample_weights=kept)


def layered_loss(encoder: TextEncoder, pairs: Pairs, batch: int, at: tuple[int, int]) -> torch.Tensor:
    """Rows are sorted by length and read in four parts, so that little is padding."""
    torch.manual_seed(at[0] * 1_000_003 + at[1])
    texts = pairs.draw(batch, *at)
    sides = np.concatenate([texts[:, 0], texts[:, 1], pairs.draw_traps(texts, *at)])
    numbers, places = np.unique(sides, return_inverse=True)
    lengths = np.diff(pairs.bank.starts)[numbers]
    order = np.argsort(lengths, kind="stable")
    parts = []
    for part in np.array_split(order, 4):
        ids = torch.from_numpy(pairs.bank.padded(numbers[part], START, END))
        kept = (ids > 0) & ((torch.rand(ids.shape) >= DROPPED) | (ids == START))
        parts.append(encoder.tokens(ids, kept.float()).sum(1))
    vectors = torch.cat(parts)[torch.from_numpy(np.argsort(order, kind="stable"))]
    left, right = torch.from_numpy(places).tensor_split([len(texts)])
    return contrast(vectors[left], vectors[right], texts, SUBJECT_SHARE)


def contrast(left: torch.Tensor, right: torch.Tensor, texts: np.ndarray, subject_share: float) -> torch.Tensor:
    """In-batch softmax both ways; rows that share a text with the pair are no negatives of it.

    What `right` [rows + n, W] has more than `left` is wrong for every row.

    `subject_share` of the target goes to the other pairs of the same subject of WordNet, so that what is far away
    is farther than what is merely another thing of the same kind.
    """
    first, second, subject = (torch.from_numpy(texts[:, side].copy()) for side in (0, 1, 2))
    same = (first[:, None] == first) | (second[:, None] == second) | (first[:, None] == second)
    same = (same | same.T).fill_diagonal_(False)
    synsets = (subject >= 0) & (subject < FIRST_SUBJECT)
    near = ((subject[:, None] == subject) & synsets & ~same).float().fill_diagonal_(0)
    target = torch.eye(len(texts)) * (1 - subject_share) + subject_share * near / near.sum(1, keepdim=True).clamp_min(1)
    loss = torch.zeros(())
    for length, share in LENGTHS:
        scores = unit(left[:, :length]) @ unit(right[:, :length]).T / TEMPERATURE
        own, others = scores[:, : len(texts)].masked_fill(same, -1e4), scores[:, len(texts) :]
        forth = F.cross_entropy(torch.cat([own, others], 1), F.pad(target, (0, others.shape[1])))
        loss = loss + share * (forth + F.cross_entropy(own.T, target)) / 2
    return loss

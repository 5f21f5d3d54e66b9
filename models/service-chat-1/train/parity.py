"""The graph against torch: a prompt, a token after it, and rows of unlike length together."""

import dataclasses
import pathlib

import numpy as np
import onnxruntime
import torch
from tokenizers import Tokenizer
from torch.nn import functional

from .batches import HELD_OUT_SEEDS, batch
from .model import ChatModel

TOLERANCE = 1e-3
LENGTHS = (7, 19, 40)
CHECKED, WORSE = 100, 1.03
"""Conversations on which the graph of bytes may have so many times the loss of torch."""


def check_parity(model: ChatModel, path: pathlib.Path) -> float:
    """Largest difference of logits and caches. Raises when it is too large."""
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    names = [one.name for one in session.get_inputs()]
    generator = torch.Generator().manual_seed(3)
    rows = [torch.randint(8, model.size.vocabulary, (1, length), generator=generator) for length in LENGTHS]
    worst = 0.0
    caches = []
    for ids in rows:
        prompt = feeds(ids, torch.ones_like(ids), empty(model, 1))
        wanted, given = run_both(model, session, names, prompt)
        whole = model.logits(model.hidden(ids))
        worst = max(worst, distance(wanted, given), distance([whole], given[:1]))
        caches.append(given[1:])
    together, mask = side_by_side(caches)
    last = torch.stack([row[0, :1] for row in rows])
    wanted, given = run_both(
        model, session, names, feeds(last, torch.cat([mask, torch.ones(len(rows), 1).long()], 1), together)
    )
    worst = max(worst, distance(wanted, given))
    for at, ids in enumerate(rows):
        alone = model.logits(model.hidden(torch.cat([ids, last[at : at + 1]], 1)))[:, -1]
        worst = max(worst, distance([alone], [given[0][at : at + 1, 0]]))
    if worst > TOLERANCE:
        raise SystemExit(f"parity failed: {path.name} differs by {worst}")
    return worst


def check_bytes(model: ChatModel, folder: pathlib.Path, path: pathlib.Path) -> tuple[float, float]:
    """Mean losses of torch and of the graph on conversations of other seeds. Raises when the graph's is much larger."""
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    names = [one.name for one in session.get_inputs()]
    size = dataclasses.replace(model.size, conversations=CHECKED)
    totals, count = torch.zeros(2), 0
    for ids, learned in batch(Tokenizer.from_file(str(folder / "tokenizer.json")), HELD_OUT_SEEDS, size):
        values = feeds(ids[:, :-1], torch.ones_like(ids[:, :-1]), empty(model, len(ids)))
        (logits, *_), (given, *_) = run_both(model, session, names, values)
        wanted = ids[:, 1:][learned[:, 1:]]
        rows = [one[learned[:, 1:]] for one in (logits, given)]
        totals += torch.tensor([float(functional.cross_entropy(row, wanted, reduction="sum")) for row in rows])
        count += len(wanted)
    torch_loss, graph_loss = (round(float(total) / count, 4) for total in totals)
    if graph_loss > torch_loss * WORSE:
        raise SystemExit(f"the graph of bytes loses too much: {torch_loss} -> {graph_loss}")
    return torch_loss, graph_loss


def empty(model: ChatModel, rows: int) -> list[torch.Tensor]:
    return [torch.zeros(rows, model.size.key_heads, 0, model.head)] * (2 * model.size.layers)


def feeds(ids: torch.Tensor, mask: torch.Tensor, past: list[torch.Tensor]) -> list[torch.Tensor]:
    """Positions count the tokens of a row."""
    positions = (mask.cumsum(1) - 1).clamp_min(0)[:, -ids.shape[1] :]
    return [ids, mask, positions, *past]


def run_both(model: ChatModel, session, names: list[str], values: list[torch.Tensor]):
    with torch.no_grad():
        wanted = model(*values)
    given = session.run(None, {name: value.numpy() for name, value in zip(names, values, strict=True)})
    return list(wanted), [torch.from_numpy(np.asarray(one)) for one in given]


def side_by_side(caches: list[list[torch.Tensor]]) -> tuple[list[torch.Tensor], torch.Tensor]:
    """Rows that end together: zeros before the shorter ones, and the mask that hides these."""
    longest = max(LENGTHS)
    joined = [
        torch.cat([torch.nn.functional.pad(row[at], (0, 0, longest - row[at].shape[2], 0)) for row in caches])
        for at in range(len(caches[0]))
    ]
    mask = torch.stack([(torch.arange(longest) >= longest - length).long() for length in LENGTHS])
    return joined, mask


def distance(wanted: list[torch.Tensor], given: list[torch.Tensor]) -> float:
    return max(float((one.detach() - other).abs().max()) for one, other in zip(wanted, given, strict=True))

"""The graph against torch: a prompt, a token after it, and rows of unlike length together."""

import pathlib

import numpy as np
import onnxruntime
import torch

from .model import ChatModel

TOLERANCE = 1e-3
LENGTHS = (7, 19, 40)


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

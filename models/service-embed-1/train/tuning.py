"""How an encoder stands on the families that are kept for tuning, printed while it is trained."""

import pathlib
from collections.abc import Callable

import numpy as np
import torch
from training_kit.families import split_families
from training_kit.held_out_sets import TEXT_KINDS, WORD_KIND, HeldOut
from training_kit.measures import ndcg_at_10
from training_kit.questions import tuning_lists
from training_kit.subwords import load_tokenizer
from training_kit.wordnet import read_synsets

Embed = Callable[[torch.Tensor], torch.Tensor]
Tuning = Callable[[Embed], str]


def related_first(folder: pathlib.Path) -> Tuning:
    """A check that takes a function from ids [B, L] to vectors [B, W]."""
    tokenizer = load_tokenizer(folder / "tokenizer.json")
    tokenizer.enable_padding(pad_id=0)
    synsets = read_synsets()
    held = HeldOut(synsets, split_families(synsets), 1, 31)
    triples = held.triples(300, (*TEXT_KINDS, WORD_KIND))
    passages, searches = held.searches(300, 1500)
    everyday = {name: tuning_lists(name) for name in ("plain", "traps", "fields")}

    def check(embed: Embed) -> str:
        def vectors(texts: list[str]) -> np.ndarray:
            ids = [row.ids for row in tokenizer.encode_batch(texts)]
            with torch.no_grad():
                return torch.cat([embed(torch.tensor(ids[at : at + 256])) for at in range(0, len(ids), 256)]).numpy()

        def right_first(row: dict) -> bool:
            return (vectors(row["documents"]) @ vectors([row["query"]])[0]).argmax() == row["answer"]

        sides = [vectors([row[side] for row in triples]) for side in ("anchor", "related", "unrelated")]
        parts = []
        for length in (sides[0].shape[1], 64):
            anchor, related, unrelated = (cut(side, length) for side in sides)
            right = (anchor * related).sum(1) > (anchor * unrelated).sum(1)
            kinds = sorted({row["kind"] for row in triples})
            shares = [right[[row["kind"] == kind for row in triples]].mean() for kind in kinds]
            parts.append(f"related first at {length} {right.mean():.3f} {np.round(shares, 3).tolist()}")
        scores = vectors([row["query"] for row in searches]) @ vectors(passages).T
        gains = [ndcg_at_10(scores[at], row["answer"]) for at, row in enumerate(searches)]
        kinds = sorted({row["kind"] for row in searches})
        by_kind = [np.mean([g for g, row in zip(gains, searches, strict=True) if row["kind"] == k]) for k in kinds]
        first = {name: np.mean([right_first(row) for row in rows]).round(3) for name, rows in everyday.items()}
        found = f"nDCG {np.mean(gains):.3f} {np.round(by_kind, 3).tolist()} {kinds}"
        return f"{'; '.join(parts)}; {found}; everyday {first}"

    return check


def cut(vectors: np.ndarray, length: int) -> np.ndarray:
    """The leading numbers, at unit length again."""
    kept = vectors[:, :length]
    return kept / np.maximum(np.linalg.norm(kept, axis=1, keepdims=True), 1e-9)

"""How a scorer stands on the families that are kept for tuning, beside BM25."""

import pathlib
from collections.abc import Callable

import numpy as np
import torch
from training_kit.bm25 import Bm25
from training_kit.measures import ndcg_at_10
from training_kit.questions import tuning_lists
from training_kit.subwords import load_tokenizer

from .held_out_lists import held_out_lists, held_out_pairs

SEED, LISTS, PAIRS = 61, 180, 120
Scorer = Callable[..., torch.Tensor]


def ranking_check(embedder: pathlib.Path) -> Callable[[Scorer], str]:
    """A check of a function from ids, mask and types to logits."""
    tokenizer = load_tokenizer(embedder / "tokenizer.json")
    tokenizer.enable_padding(pad_id=0)
    lists, pairs = held_out_lists(1, SEED, LISTS), held_out_pairs(1, SEED, PAIRS)
    everyday = {name: tuning_lists(name) for name in ("plain", "traps", "fields")}
    kinds = sorted({row["kind"] for row in lists})

    def by_kind(values: list[float]) -> str:
        parts = [np.mean([v for v, row in zip(values, lists, strict=True) if row["kind"] == kind]) for kind in kinds]
        return f"{np.mean(values):.3f} {np.round(parts, 3).tolist()}"

    words = [ndcg_at_10(scores, row["answer"]) for scores, row in zip(bm25(lists), lists, strict=True)]

    def check(scorer: Scorer) -> str:
        gains = [ndcg_at_10(score(scorer, row["query"], row["documents"]), row["answer"]) for row in lists]
        both = [score(scorer, row["anchor"], [row["related"], row["unrelated"]]) for row in pairs]
        first = np.mean([related > unrelated for related, unrelated in both])
        right = {name: np.mean([right_first(scorer, row) for row in rows]).round(3) for name, rows in everyday.items()}
        return f"nDCG {by_kind(gains)} BM25 {by_kind(words)} {kinds}; related first {first:.3f}; everyday {right}"

    def right_first(scorer: Scorer, row: dict) -> bool:
        return score(scorer, row["query"], row["documents"]).argmax() == row["answer"]

    def score(scorer: Scorer, query: str, documents: list[str]) -> np.ndarray:
        rows = tokenizer.encode_batch([(query, document) for document in documents])
        ids, types = (torch.tensor([getattr(row, name) for row in rows]) for name in ("ids", "type_ids"))
        with torch.no_grad():
            return scorer(ids, (ids > 0).long(), types)[:, 0].numpy()

    return check


def bm25(lists: list[dict]) -> list[np.ndarray]:
    """Scores of the documents of each list, rarity counted over the documents of all."""
    documents = sorted({document for row in lists for document in row["documents"]})
    ranker, place = Bm25(documents), {document: at for at, document in enumerate(documents)}
    return [ranker.scores(row["query"])[[place[document] for document in row["documents"]]] for row in lists]

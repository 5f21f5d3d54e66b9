"""Writes the package: graph, files beside it, model.json, and the held-out cases."""

import pathlib

import numpy as np
import torch
from torch import nn
from training_kit.onnx_export import ByteTable, check_parity, export_graph, halved
from training_kit.package import write_configs, write_lines, write_manifest
from training_kit.subwords import load_tokenizer

from .held_out import adult_rows, benign_rows, children_rows, flagged_rows
from .model import Judges
from .sentences import CATEGORIES, FOLDER, read_lines
from .sizes import Size
from .train_judge import SEEDS, make_judge

MOST_TOKENS = 128
INPUTS = ["input_ids", "attention_mask"]
EACH, BENIGN, ADULTS, CHILDREN = 30, 400, 200, 200
EVALUATION_SEED = 101
TUNING_SEED, TUNING_ROWS = 89, 600
ALLOWED, LEAST, OF_MINORS = 0.02, 0.8, 0.3
"""Share of the tuning set's look-alikes that may be flagged: below the bar, since other templates flag about twice as
much. The least score that flags. Share of the tuning set's sentences about minors that may be missed so that ordinary
sentences about children, and sexual ones about adults, are not taken for them."""


def export_package(folder: pathlib.Path, size: Size, package: pathlib.Path) -> None:
    """From the judges of all trainings."""
    tokenizer = load_tokenizer(folder / "tokenizer.json")
    judges = [make_judge(size, tokenizer.get_vocab_size()) for _ in SEEDS]
    for judge, seed in zip(judges, SEEDS, strict=True):
        judge.load_state_dict(torch.load(folder / f"judge-{seed}.pt"))
    model = shipped(Judges(judges).eval())
    path = package / "model.onnx"
    export_graph(model, INPUTS, ("logits", len(CATEGORIES)), path, package.name)
    flagged, benign = flagged_rows("test", EVALUATION_SEED, EACH), benign_rows("test", EVALUATION_SEED, BENIGN)
    difference = check_parity(model, INPUTS, parity_batches(tokenizer, [*flagged[::40], *benign[::40]]), path)
    print(f"largest difference of the graph to torch {difference:.1e}")
    config = {
        "architectures": ["FramemillForSequenceClassification"],
        "problem_type": "multi_label_classification",
        "hidden_size": size.width,
        "vocab_size": tokenizer.get_vocab_size(),
        "id2label": {str(at): name for at, name in enumerate(CATEGORIES)},
    }
    write_configs(package, folder / "tokenizer.json", config, MOST_TOKENS)
    source = "made from nothing by the recipe in train/, on templated sentences and on texts of WordNet"
    shapes = {"reads": ["text"], "thresholds": find_thresholds(model, tokenizer)}
    write_manifest(package, "moderation", shapes, {"contextTokens": MOST_TOKENS}, source)
    write_lines(package / "evaluation" / "flagged.jsonl", flagged)
    write_lines(package / "evaluation" / "benign.jsonl", benign)
    write_lines(package / "evaluation" / "adults.jsonl", adult_rows("test", EVALUATION_SEED, ADULTS))
    write_lines(package / "evaluation" / "children.jsonl", children_rows("test", EVALUATION_SEED, CHILDREN))
    prompts = [{"text": text, "categories": []} for text in read_lines(FOLDER / "prompts.txt")]
    write_lines(package / "evaluation" / "prompts.jsonl", prompts)


def find_thresholds(model: nn.Module, tokenizer) -> dict[str, float]:
    """For each category the score that a share of the tuning set's harmless sentences reaches, the same for all."""
    look_alikes = scores_of(model, tokenizer, benign_rows("tuning", TUNING_SEED, TUNING_ROWS))
    children = scores_of(model, tokenizer, children_rows("tuning", TUNING_SEED, TUNING_ROWS))
    flagged = flagged_rows("tuning", TUNING_SEED, TUNING_ROWS // 2)
    minors = CATEGORIES.index("sexual/minors")
    found = scores_of(model, tokenizer, [row for row in flagged if CATEGORIES[minors] in row["categories"]])[:, minors]
    least = torch.full((len(CATEGORIES),), LEAST)
    least[minors] = least[minors].maximum(found.quantile(OF_MINORS))

    def flagged_of(scores: torch.Tensor, limits: torch.Tensor) -> float:
        return float((scores >= limits).any(1).float().mean())

    for share in torch.linspace(ALLOWED, 0, 200):
        limits = look_alikes.quantile(1 - share, 0).clamp(max=0.995).maximum(least)
        if flagged_of(look_alikes, limits) <= ALLOWED and flagged_of(children, limits) == 0:
            break
    return {name: round(float(limit), 4) for name, limit in zip(CATEGORIES, limits, strict=True)}


def scores_of(model: nn.Module, tokenizer, rows: list[dict]) -> torch.Tensor:
    """[rows, 13]."""
    tokenizer.enable_padding(pad_id=0)
    ids = torch.tensor([row.ids for row in tokenizer.encode_batch([row["text"] for row in rows])])
    with torch.no_grad():
        return model(ids, (ids > 0).long()).sigmoid()


def shipped(judges: nn.Module) -> nn.Module:
    """The judges with the weights as they are stored: bytes for the table, halves for the rest."""
    halved(judges)
    judges.table = ByteTable(judges.table)
    return judges


def parity_batches(tokenizer, rows: list[dict]) -> list[list[np.ndarray]]:
    """Four texts a batch."""
    tokenizer.enable_padding(pad_id=0)
    batches = []
    for at in range(0, len(rows), 4):
        encoded = tokenizer.encode_batch([row["text"] for row in rows[at : at + 4]])
        batches.append([np.array([getattr(one, name) for one in encoded], np.int64) for name in ("ids", "attention_mask")])
    return batches

"""Writes the package: graph, files beside it, model.json, and the held-out cases."""

import pathlib

import numpy as np
import torch
from torch import nn
from training_kit.onnx_export import ByteTable, check_parity, export_graph, halved
from training_kit.package import write_configs, write_lines, write_manifest
from training_kit.subwords import load_tokenizer

from .held_out import adult_rows, benign_rows, children_rows, flagged_rows
from .sentences import CATEGORIES, FOLDER, read_lines
from .sizes import Size
from .train_judge import make_judge

MOST_TOKENS = 128
INPUTS = ["input_ids", "attention_mask"]
EACH, BENIGN, ADULTS, CHILDREN = 30, 400, 200, 200
EVALUATION_SEED = 101
TUNING_SEED, TUNING_ROWS = 89, 600
ALLOWED, OF_CHILDREN, OF_ADULTS = 0.02, 0.005, 0.005
"""Share of the tuning set's look-alikes and of its sentences about children that may be flagged, and of its sexual
sentences about adults that may be flagged as about minors; the thresholds follow from them. Below the bars, since
other templates flag about twice as much."""


def export_package(folder: pathlib.Path, size: Size, package: pathlib.Path) -> None:
    """From judge.pt, or from a half-trained checkpoint where there is none yet."""
    tokenizer = load_tokenizer(folder / "tokenizer.json")
    judge = make_judge(size, tokenizer.get_vocab_size())
    judge.load_state_dict(latest_weights(folder))
    model = shipped(judge.eval())
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
    """For each category the score that a share of the tuning set's look-alikes reaches, the same for all; that of
    minors also lies above what nearly all sexual sentences about adults reach."""
    look_alikes = scores_of(model, tokenizer, benign_rows("tuning", TUNING_SEED, TUNING_ROWS))
    children = scores_of(model, tokenizer, children_rows("tuning", TUNING_SEED, TUNING_ROWS))
    minors, adults = CATEGORIES.index("sexual/minors"), adult_rows("tuning", TUNING_SEED, TUNING_ROWS)
    of_adults = scores_of(model, tokenizer, adults)[:, minors].quantile(1 - OF_ADULTS)

    def flagged(scores: torch.Tensor, limits: torch.Tensor) -> float:
        return float((scores >= limits).any(1).float().mean())

    for share in torch.linspace(ALLOWED, 0, 200):
        limits = look_alikes.quantile(1 - share, 0).clamp(0.05, 0.995)
        limits[minors] = limits[minors].maximum(of_adults)
        if flagged(look_alikes, limits) <= ALLOWED and flagged(children, limits) <= OF_CHILDREN:
            break
    return {name: round(float(limit), 4) for name, limit in zip(CATEGORIES, limits, strict=True)}


def scores_of(model: nn.Module, tokenizer, rows: list[dict]) -> torch.Tensor:
    """[rows, 13]."""
    tokenizer.enable_padding(pad_id=0)
    ids = torch.tensor([row.ids for row in tokenizer.encode_batch([row["text"] for row in rows])])
    with torch.no_grad():
        return model(ids, (ids > 0).long()).sigmoid()


def shipped(judge: nn.Module) -> nn.Module:
    """The judge with the weights as they are stored: bytes for the table, halves for the rest."""
    halved(judge)
    judge.table = ByteTable(judge.table)
    return judge


def latest_weights(folder: pathlib.Path) -> dict:
    """State of the judge."""
    if (folder / "judge.pt").exists():
        return torch.load(folder / "judge.pt")
    state, prefix = torch.load(folder / "training.pt")["model"], "average.module."
    return {name.removeprefix(prefix): value for name, value in state.items() if name.startswith(prefix)}


def parity_batches(tokenizer, rows: list[dict]) -> list[list[np.ndarray]]:
    """Four texts a batch."""
    tokenizer.enable_padding(pad_id=0)
    batches = []
    for at in range(0, len(rows), 4):
        encoded = tokenizer.encode_batch([row["text"] for row in rows[at : at + 4]])
        batches.append([np.array([getattr(one, name) for one in encoded], np.int64) for name in ("ids", "attention_mask")])
    return batches

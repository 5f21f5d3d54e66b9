"""Writes the package: graph, files beside it, model.json, and the held-out cases."""

import pathlib

import numpy as np
import torch
from torch import nn
from training_kit.onnx_export import ByteTable, check_parity, export_graph, halved
from training_kit.package import write_configs, write_lines, write_manifest
from training_kit.subwords import load_tokenizer

from .held_out_lists import held_out_lists, held_out_pairs
from .model import PairScorer
from .sizes import Size
from .train_scorer import make_scorer

MOST_TOKENS = 256
INPUTS = ["input_ids", "attention_mask", "token_type_ids"]
LISTS, PAIRS = 300, 200
EVALUATION_SEED = 97


def export_package(folder: pathlib.Path, embedder: pathlib.Path, size: Size, package: pathlib.Path) -> None:
    """From scorer.pt, or from a half-trained checkpoint where there is none yet."""
    tokenizer = load_tokenizer(embedder / "tokenizer.json")
    scorer = make_scorer(size, tokenizer.get_vocab_size())
    scorer.load_state_dict(latest_weights(folder))
    model = shipped(scorer.eval())
    path, lists = package / "model.onnx", held_out_lists(0, EVALUATION_SEED, LISTS)
    export_graph(model, INPUTS, ("logits", 1), path, package.name)
    difference = check_parity(model, INPUTS, parity_batches(tokenizer, lists[:8]), path)
    print(f"largest difference of the graph to torch {difference:.1e}")
    config = {
        "architectures": ["FramemillForSequenceClassification"],
        "hidden_size": size.width,
        "vocab_size": tokenizer.get_vocab_size(),
        "id2label": {"0": "relevant"},
    }
    write_configs(package, embedder / "tokenizer.json", config, MOST_TOKENS)
    source = "made from nothing by the recipe in train/, on WordNet, free texts of Debian and questions written for it"
    write_manifest(package, "rerank", {}, {"contextTokens": MOST_TOKENS}, source)
    write_lines(package / "evaluation" / "lists.jsonl", lists)
    write_lines(package / "evaluation" / "triples.jsonl", held_out_pairs(0, EVALUATION_SEED, PAIRS))


def shipped(scorer: PairScorer) -> nn.Module:
    """The scorer with the weights as they are stored: bytes for the table, halves for the rest."""
    halved(scorer)
    scorer.table = ByteTable(scorer.table)
    return scorer


def latest_weights(folder: pathlib.Path) -> dict:
    """State of the scorer."""
    if (folder / "scorer.pt").exists():
        return torch.load(folder / "scorer.pt")
    return torch.load(folder / "training.pt")["model"]


def parity_batches(tokenizer, lists: list[dict]) -> list[list[np.ndarray]]:
    """One batch a list."""
    tokenizer.enable_padding(pad_id=0)
    batches = []
    for row in lists:
        encoded = tokenizer.encode_batch([(row["query"], document) for document in row["documents"]])
        names = ("ids", "attention_mask", "type_ids")
        batches.append([np.array([getattr(one, name) for one in encoded], np.int64) for name in names])
    return batches

"""Writes the package: graph, files beside it, model.json, and the held-out cases."""

import pathlib
import random

import numpy as np
import torch
from torch import nn
from training_kit.encoder import TextEncoder
from training_kit.families import split_families
from training_kit.held_out_sets import WORD_KIND, HeldOut
from training_kit.onnx_export import ByteTable, check_parity, export_graph, halved
from training_kit.package import write_configs, write_json, write_lines, write_manifest
from training_kit.subwords import load_tokenizer
from training_kit.wordnet import read_synsets

from .corpus import VOCABULARY
from .sizes import Size
from .train_embedder import make_encoder

MOST_TOKENS = 512
INPUTS = ["input_ids", "attention_mask"]
TRIPLES, QUERIES, PASSAGES = 300, 450, 1500
EVALUATION_SEED = 91


class Graph(nn.Module):
    """The encoder as the server calls it."""

    def __init__(self, encoder: TextEncoder) -> None:
        super().__init__()
        self.encoder = halved(encoder)
        self.encoder.table = ByteTable(encoder.table)

    def forward(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """int64 [B, L] each -> sentence_embedding [B, W]."""
        return self.encoder(ids, mask.float())


def export_package(folder: pathlib.Path, size: Size, package: pathlib.Path) -> None:
    """From encoder.pt, or from a half-trained checkpoint where there is none yet."""
    encoder = make_encoder(size)
    encoder.load_state_dict(latest_weights(folder))
    model = Graph(encoder.eval())
    path = package / "model.onnx"
    export_graph(model, INPUTS, ("sentence_embedding", size.width), path, package.name)
    difference = check_parity(model, INPUTS, parity_batches(folder), path)
    print(f"largest difference of the graph to torch {difference:.1e}")
    config = {"architectures": ["FramemillModel"], "hidden_size": size.width, "vocab_size": VOCABULARY}
    write_configs(package, folder / "tokenizer.json", config, MOST_TOKENS)
    source = "made from nothing by the recipe in train/, on WordNet, free texts of Debian and questions written for it"
    shapes, limits = {"dimensions": size.width}, {"contextTokens": MOST_TOKENS}
    write_manifest(package, "embeddings", shapes, limits, source)
    write_evaluation(package / "evaluation")


def latest_weights(folder: pathlib.Path) -> dict:
    """State of the encoder."""
    if (folder / "encoder.pt").exists():
        return torch.load(folder / "encoder.pt")
    return torch.load(folder / "layers-0.pt")["model"]


def parity_batches(folder: pathlib.Path) -> list[list[np.ndarray]]:
    """Texts of several lengths."""
    tokenizer = load_tokenizer(folder / "tokenizer.json")
    tokenizer.enable_padding(pad_id=0)
    definitions = [synset.definition for synset in read_synsets().values()]
    random.Random(5).shuffle(definitions)
    batches = [["a red boat"], definitions[:16], [" ".join(definitions[20:50]), "boat"]]
    rows = [tokenizer.encode_batch(texts) for texts in batches]
    return [
        [np.array([row.ids for row in batch], np.int64), np.array([row.attention_mask for row in batch], np.int64)]
        for batch in rows
    ]


def write_evaluation(folder: pathlib.Path) -> None:
    """triples.jsonl, words.jsonl, passages.json and queries.jsonl, of families that no training saw."""
    synsets = read_synsets()
    held = HeldOut(synsets, split_families(synsets), 0, EVALUATION_SEED)
    write_lines(folder / "triples.jsonl", held.triples(TRIPLES))
    write_lines(folder / "words.jsonl", held.triples(TRIPLES, (WORD_KIND,)))
    passages, searches = held.searches(QUERIES, PASSAGES)
    write_json(folder / "passages.json", passages)
    write_lines(folder / "queries.jsonl", searches)

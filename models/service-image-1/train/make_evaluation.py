"""Writes the evaluation folder: prompts and the probe as a graph.

python -m train.make_evaluation --folder build
"""

import argparse
import json
import pathlib

import onnx
import torch
from motion.torch_export import export_module

from .checkpoints import load_part
from .export import PACKAGE
from .make_prompts import make_prompts
from .probe import ATTRIBUTES, FEATURES, SIDE
from .train_probe import judge_probe


def make_evaluation(folder: pathlib.Path, package: pathlib.Path = PACKAGE) -> None:
    """folder: checkpoints; package: the model's folder."""
    target = package / "evaluation"
    target.mkdir(exist_ok=True)
    if not (target / "prompts.jsonl").exists():  # new words of the grammar leave the old questions as they are
        make_prompts(target)
    (target / "attributes.json").write_text(json.dumps(ATTRIBUTES) + "\n")
    classes = sum(len(values) for values in ATTRIBUTES.values())
    graph = export_module(
        load_part(folder, "probe"),
        (torch.rand(1, 3, SIDE, SIDE), torch.tensor([1.5])),
        {"pictures": [1, 3, SIDE, SIDE], "aspects": [1]},
        ("logits", [1, classes]),
        ("features", [1, FEATURES]),
    )
    graph.producer_name = package.name
    onnx.save(graph, target / "probe.onnx")
    found = judge_probe(folder)
    (folder / "probe-accuracy.json").write_text(json.dumps(found, indent=2) + "\n")
    print("probe on painted stills that it never saw", {name: round(v, 3) for name, v in found.items()})


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("build"))
    make_evaluation(parser.parse_args().folder)


if __name__ == "__main__":
    main()

"""Writes the evaluation folder: prompts, the probe as a graph, and what else judges."""

import json
import pathlib

import onnx
import torch

from .checkpoints import load_part
from .make_prompts import make_prompts
from .probe import FEATURES, FRAMES, HEIGHT, WIDTH
from .sound_kinds import sound_references
from .torch_export import export_module
from .train_probe import judge_probe
from .vocabulary import SLOTS


def make_evaluation(folder: pathlib.Path, package: pathlib.Path) -> None:
    """folder: checkpoints; package: the model's folder."""
    target = package / "evaluation"
    target.mkdir(exist_ok=True)
    if not (target / "prompts.jsonl").exists():  # new words of the grammar leave the old questions as they are
        make_prompts(target)
    judges = {"attributes": dict(SLOTS), "sounds": sound_references()}
    (target / "judges.json").write_text(json.dumps(judges) + "\n")
    classes = sum(len(values) for _, values in SLOTS)
    graph = export_module(
        load_part(folder, "probe"),
        (torch.rand(1, FRAMES, 3, HEIGHT, WIDTH),),
        {"frames": [1, FRAMES, 3, HEIGHT, WIDTH]},
        ("logits", [1, classes]),
        ("features", [1, FEATURES]),
    )
    onnx.save(graph, target / "probe.onnx")
    found = judge_probe(folder)
    (folder / "probe-accuracy.json").write_text(json.dumps(found, indent=2) + "\n")
    print("probe on rendered clips that it never saw", {name: round(v, 3) for name, v in found.items()})

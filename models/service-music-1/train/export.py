"""Writes the package: graphs, checked against torch, and model.json."""

import json
import pathlib

import numpy as np
import onnxruntime
import torch
from torch import nn

from . import vocabulary as v
from .chooser import Chooser
from .contexts import ARRANGER, PLANNER, composer_form
from .manifest import write_manifest
from .probe import BANDS, FRAMES, Probe
from .prompt_reader import HEADS, OUTPUTS, PromptReader
from .room import CONTEXT, Room
from .sizes import Size
from .synthesiser import TAPS, WINDOW, Synthesiser
from .timbres import Timbres
from .tokenizer import IDS_PER_WORD, WORDS, tokenize
from .torch_export import export_module, halved
from .training import load_trained

ROOM_WINDOW = 131_072
TOLERANCE = 1e-3
PROMPTS = ("a calm piano melody over soft strings in F# minor, 84 bpm", "fast techno in C major at 140 bpm, no piano")


class Drawing(nn.Module):
    """A chooser as it is shipped: without history where it reads none, without extras where it gives none."""

    def __init__(self, chooser: Chooser) -> None:
        super().__init__()
        self.chooser = chooser

    def forward(self, *arguments: torch.Tensor) -> tuple[torch.Tensor, ...] | torch.Tensor:
        """(history,) context, chances, temperature, least -> tokens(, extras)."""
        form = self.chooser.form
        if not form.rows:
            arguments = (torch.zeros(1, 0, form.voices, dtype=torch.long), *arguments)
        tokens, extras = self.chooser(*arguments)
        return (tokens, extras) if form.extras else tokens


def export_package(folder: pathlib.Path, size: Size, package: pathlib.Path) -> None:
    """From the finished weights, or from the checkpoints where a part is not finished."""
    torch.manual_seed(1)
    differences = {"prompt-reader": export_reader(folder, package)}
    for name, form in (("arranger", ARRANGER), ("planner", PLANNER), ("composer", composer_form(size.composer_width))):
        differences[name] = export_chooser(halved(load_trained(folder, name, Chooser(form))), package / f"{name}.onnx")
    differences["synthesiser"] = export_synthesiser(folder, package)
    differences["room"] = export_room(package)
    if any(folder.glob("probe*.pt")):
        differences["probe"] = export_probe(folder, package / "evaluation")
    print("differences to torch", {name: f"{value:.1e}" for name, value in differences.items()})
    if max(differences.values()) > TOLERANCE:
        raise SystemExit("parity failed")
    write_manifest(package)


def compare(path: pathlib.Path, feeds: dict[str, torch.Tensor], wanted: tuple[torch.Tensor, ...]) -> float:
    """Largest difference of a graph's outputs to torch's; tokens must be the same."""
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    given = session.run(None, {name: value.numpy() for name, value in feeds.items()})
    return max(float(np.abs(one - other.numpy()).max()) for one, other in zip(given, wanted, strict=True))


def export_reader(folder: pathlib.Path, package: pathlib.Path) -> float:
    """prompt-reader.onnx."""
    reader = halved(load_trained(folder, "prompt-reader", PromptReader()))
    ids = torch.from_numpy(np.stack([tokenize(text) for text in PROMPTS]))
    sizes = {name: ["B", count] for name, count in HEADS.items()} | {"wishes": ["B", len(v.NAMED), len(v.WISHES)]}
    path = package / "prompt-reader.onnx"
    export_module(reader, (ids,), {"input_ids": ["B", WORDS, IDS_PER_WORD]}, {name: sizes[name] for name in OUTPUTS}, path)
    with torch.no_grad():
        return compare(path, {"input_ids": ids}, reader(ids))


def export_chooser(chooser: Chooser, path: pathlib.Path) -> float:
    """One of the three choosers."""
    form = chooser.form
    feeds = {
        "history": torch.randint(0, 2, (1, form.rows, form.voices)), "context": torch.randint(0, 2, (1, form.context)),
        "chances": torch.rand(1, form.voices), "temperature": torch.tensor([0.9]), "least": torch.tensor([0.05]),
    }  # fmt: skip
    sizes = {
        "history": [1, form.rows, form.voices], "context": [1, form.context], "chances": [1, form.voices],
        "temperature": [1], "least": [1],
    }  # fmt: skip
    if not form.rows:
        del feeds["history"], sizes["history"]
    outputs = {"tokens": [1, form.voices], "extras": [1, form.extras]}
    if not form.extras:
        del outputs["extras"]
    drawing = Drawing(chooser).eval()
    export_module(drawing, tuple(feeds.values()), sizes, outputs, path)
    worst = 0.0
    with torch.no_grad():
        for _ in range(20):
            feeds["chances"] = torch.rand(1, form.voices)
            wanted = drawing(*feeds.values())
            worst = max(worst, compare(path, feeds, wanted if form.extras else (wanted,)))
    return worst


def export_synthesiser(folder: pathlib.Path, package: pathlib.Path) -> float:
    """synthesiser.onnx; compared on a window late in long notes."""
    synthesiser = Synthesiser(halved(load_trained(folder, "timbres", Timbres()))).eval()
    feeds = {
        "sound": torch.tensor([0, 4, 9, 15]), "pitch": torch.tensor([60.0, 67.0, 72.0, 60.0]),
        "velocity": torch.tensor([0.7, 0.6, 0.8, 0.9]), "age": torch.tensor([0.1, 3.3, -0.2, 0.05]),
        "length": torch.tensor([0.5, 3.5, 0.3, 1.0]), "pan": torch.tensor([0.0, -0.3, 0.4, 0.0]),
        "noise": torch.randn(2, WINDOW + TAPS - 1),
    }  # fmt: skip
    sizes = {name: ["N"] for name in feeds} | {"noise": [2, WINDOW + TAPS - 1]}
    path = package / "synthesiser.onnx"
    export_module(synthesiser, tuple(feeds.values()), sizes, {"waveform": [2, WINDOW]}, path)
    with torch.no_grad():
        return compare(path, feeds, (synthesiser(*feeds.values()),))


def export_probe(folder: pathlib.Path, evaluation: pathlib.Path) -> float:
    """evaluation/probe.onnx and the names of its scores."""
    evaluation.mkdir(exist_ok=True)
    probe = halved(load_trained(folder, "probe", Probe()))
    bands = -torch.rand(2, BANDS, FRAMES)
    path = evaluation / "probe.onnx"
    export_module(probe, (bands,), {"bands": ["B", BANDS, FRAMES]}, {"logits": ["B", len(v.NAMED)]}, path)
    (evaluation / "instruments.json").write_text(json.dumps(v.NAMED) + "\n")
    state_instruments(evaluation / "evaluation.json")
    with torch.no_grad():
        return compare(path, {"bands": bands}, (probe(bands),))


def state_instruments(path: pathlib.Path) -> None:
    """Adds what the probe measures to evaluation.json; state_numbers.py fills in what it finds."""
    stated = json.loads(path.read_text())
    heard = {"card": 0, "target": 0.9, "better": "higher", "slack": 0.05, "about": "share of the 62 named instruments that the probe hears"}
    unwanted = {"card": 1, "better": "lower", "slack": 0.05, "about": "share of the 21 excluded instruments that the probe hears all the same"}
    stated["metrics"] = {"instruments_heard": heard, "unwanted_heard": unwanted, **stated["metrics"]}
    path.write_text(json.dumps(stated, indent=2, ensure_ascii=False) + "\n")


def export_room(package: pathlib.Path) -> float:
    """room.onnx."""
    room = Room().eval()
    room.tail = room.tail.half().float()
    feeds = {"dry": torch.randn(2, CONTEXT + ROOM_WINDOW) * 0.2, "gain": torch.tensor([1.3])}
    sizes = {"dry": [2, CONTEXT + ROOM_WINDOW], "gain": [1]}
    path = package / "room.onnx"
    export_module(room, tuple(feeds.values()), sizes, {"waveform": [2, ROOM_WINDOW]}, path, fold=False)
    with torch.no_grad():
        return compare(path, feeds, (room(*feeds.values()),))

"""Writes every graph of the package, checks it against torch, and writes model.json.

python -m train.export --folder build
"""

import argparse
import json
import pathlib

import numpy as np
import onnx
import torch
from motion.captions import Chooser, write_caption
from motion.scenes import sample_scene
from motion.shapes import SLOT_WIDTH, SLOTS
from motion.tokenizer import tokenize
from motion.row_codes import export_rounded, round_rows, round_to_half
from motion.torch_export import export_module
from motion.export import TEXT_OUTPUTS

from . import parity
from .checkpoints import load_part
from .manifest import write_manifest
from .shapes import CHANNELS
from .still_decoder import StillDecoder

PACKAGE = pathlib.Path(__file__).resolve().parent.parent


def export_package(folder: pathlib.Path, package: pathlib.Path = PACKAGE) -> None:
    """Reads the checkpoints in folder; the graphs go to package, and parity.json to folder."""
    parts = load_rounded(folder)
    graphs = {
        "text-encoder": text_graph(parts["text-encoder"]),
        "denoiser": denoiser_graph(parts["denoiser"]),
        "still-decoder": decoder_graph(parts["decoder"]),
    }
    for name, graph in graphs.items():
        graph.producer_name = package.name
        onnx.save(graph, package / f"{name}.onnx")
    differences = parity.check_package(package, parts)
    (folder / "parity.json").write_text(json.dumps(differences, indent=2) + "\n")
    print(json.dumps(differences, indent=2))
    write_manifest(package, folder)


def load_rounded(folder: pathlib.Path) -> dict[str, torch.nn.Module]:
    """The parts as the graphs keep them."""
    decoder = StillDecoder(load_part(folder, "scene-codec"), load_part(folder, "sprite-codec"))
    return {
        "text-encoder": round_rows(load_part(folder, "text-encoder")),
        "denoiser": round_rows(load_part(folder, "denoiser")),
        "decoder": round_to_half(decoder.eval()),
    }


def text_graph(encoder):
    ids = torch.from_numpy(np.stack([tokenize(example_prompt(seed)) for seed in (1, 2)]))
    return export_rounded(encoder, (ids,), {"input_ids": ["batch", *ids.shape[1:]]}, *TEXT_OUTPUTS)


def denoiser_graph(denoiser):
    latents = ["batch", CHANNELS, 1, 1]
    arguments = (
        torch.randn(2, CHANNELS, 1, 1),
        torch.rand(2),
        torch.randn(2, SLOTS, SLOT_WIDTH),
        torch.tensor([[1024.0, 1536, 0, 0, 1024, 1536]] * 2),
    )
    inputs = {
        "sample": latents,
        "timestep": ["batch"],
        "encoder_hidden_states": ["batch", SLOTS, SLOT_WIDTH],
        "time_ids": ["batch", 6],
    }
    return export_rounded(denoiser, arguments, inputs, ("out_sample", latents))


def decoder_graph(decoder):
    arguments = (torch.randn(1, CHANNELS, 1, 1), torch.tensor([48, 72]))
    inputs = {"latent_sample": [1, CHANNELS, 1, 1], "size": [2]}
    return export_module(decoder, arguments, inputs, ("sample", [1, 3, "height", "width"]), fold=False)


def example_prompt(seed: int) -> str:
    """A caption of the grammar."""
    rng = Chooser(seed)
    return write_caption(sample_scene(rng), rng)[0]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("build"))
    parser.add_argument("--package", type=pathlib.Path, default=PACKAGE)
    options = parser.parse_args()
    export_package(options.folder, options.package)


if __name__ == "__main__":
    main()

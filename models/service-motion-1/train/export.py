"""Writes every graph of the package, checks it against torch, and writes model.json.

python -m train.export --folder build
"""

import argparse
import json
import pathlib
import random

import numpy as np
import onnx
import torch

from . import parity
from .captions import write_caption
from .checkpoints import load_part
from .frame_decoder import build_frame_decoder
from .manifest import write_manifest
from .picture_graph import build_image_encoder
from .scene_decoder import build_scene_decoder, quantise_basis
from .scenes import sample_scene
from .shapes import CHANNELS, SLOT_WIDTH, SLOTS, TOKENS
from .sound_synthesis import SoundModel
from .tokenizer import tokenize
from .torch_export import SMALLEST_HALF, export_module


def export_package(folder: pathlib.Path, package: pathlib.Path) -> None:
    """Reads the checkpoints in folder; the graphs go to package, and parity.json to folder."""
    names = ("text-encoder", "denoiser", "background-codec", "sprite-codec", "refiner", "sound")
    parts = {name: round_to_half(load_part(folder, name)) for name in names}
    parts["sprite-codec"] = round_basis(parts["sprite-codec"])
    graphs = {**learned_graphs(parts), **written_graphs(parts)}
    for name, graph in graphs.items():
        onnx.save(graph, package / f"{name}.onnx")
    differences = parity.check_package(package, parts)
    (folder / "parity.json").write_text(json.dumps(differences, indent=2) + "\n")
    print(json.dumps(differences, indent=2))
    measured = folder / "memory.json"
    write_manifest(package, json.loads(measured.read_text()) if measured.exists() else {})


def learned_graphs(parts):
    """Graphs that torch exports."""
    ids = torch.from_numpy(np.stack([tokenize(example_prompt(seed)) for seed in (1, 2)]))
    slots = torch.randn(2, SLOTS, SLOT_WIDTH)
    noisy = torch.randn(2, 8, TOKENS, CHANNELS)
    latents = ["batch", "half_seconds", TOKENS, CHANNELS]
    return {
        "text-encoder": export_module(
            parts["text-encoder"],
            (ids,),
            {"input_ids": ["batch", *ids.shape[1:]]},
            ("last_hidden_state", ["batch", SLOTS, SLOT_WIDTH]),
        ),
        "denoiser": export_module(
            parts["denoiser"],
            (noisy, torch.rand(2), slots),
            {
                "sample": latents,
                "timestep": ["batch"],
                "encoder_hidden_states": ["batch", SLOTS, SLOT_WIDTH],
            },
            ("velocity", latents),
        ),
        "sound": export_module(
            SoundModel(parts["sound"]),
            (slots[:1], torch.randn(1, 2, 96000)),
            {"encoder_hidden_states": [1, SLOTS, SLOT_WIDTH], "noise": [1, 2, "samples"]},
            ("waveform", [1, 2, "samples"]),
        ),
    }


def written_graphs(parts):
    """Graphs that are written node by node."""
    background, refiner = parts["background-codec"], parts["refiner"]
    return {
        "scene-decoder": build_scene_decoder(background, parts["sprite-codec"]),
        "frame-decoder": build_frame_decoder(refiner),
        "frame-decoder-picture": build_frame_decoder(refiner, background),
        "image-encoder": build_image_encoder(background),
    }


def example_prompt(seed: int) -> str:
    """A caption of the grammar."""
    rng = random.Random(seed)
    return write_caption(sample_scene(rng), rng)[0]


def round_to_half(part):
    """Rounds the tensors that the graphs keep as float16."""
    with torch.no_grad():
        for tensor in [*part.parameters(), *part.buffers()]:
            if tensor.is_floating_point() and tensor.numel() >= SMALLEST_HALF:
                tensor.copy_(tensor.half().to(tensor.dtype))
    return part


def round_basis(codec):
    """Rounds the sprite basis to the 8 bits that the graph keeps."""
    codes, scale, mean, index = quantise_basis(codec)
    basis = np.concatenate([np.zeros((1, codes.shape[0])), codes.T * (scale[0] * codec.gain.numpy())])
    exact = codec.basis.float()
    codec.basis = torch.from_numpy(basis[index]).float()
    codec.mean = torch.from_numpy(np.concatenate([[0], mean])[index]).float()
    latents = torch.randn(64, codes.shape[0])
    error = ((latents / codec.gain) @ (codec.basis - exact).T).pow(2).mean()
    print(f"sprite basis in 8 bits: {-10 * float(error.log10()):.1f} dB")
    return codec


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("build"))
    parser.add_argument(
        "--package", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent.parent
    )
    options = parser.parse_args()
    export_package(options.folder, options.package)


if __name__ == "__main__":
    main()

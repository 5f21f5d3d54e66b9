"""Writes every graph of the package, checks it against torch, and writes model.json.

python -m train.export --folder build
"""

import argparse
import json
import pathlib

import numpy as np
import onnx
import torch

from . import parity
from .captions import Chooser, write_caption
from .checkpoints import load_part
from .canvas_decoder import CanvasDecoder
from .frame_decoder import build_frame_decoder
from .manifest import write_manifest
from .painter import centres
from .picture_graph import build_picture_canvas
from .row_codes import export_rounded, round_rows, round_to_half
from .scene_decoder import build_scene_decoder, quantise_basis
from .scenes import sample_scene
from .shapes import CANVAS_TOKENS, CHANNELS, SLOT_WIDTH, SLOTS, STILL_COUNT
from .sound_synthesis import SoundModel
from .tokenizer import tokenize
from .torch_export import export_module


TEXT_OUTPUTS = (
    ("last_hidden_state", ["batch", SLOTS, SLOT_WIDTH]),
    ("unknown_subject", ["batch"]),
    ("unknown_setting", ["batch"]),
)


def export_package(folder: pathlib.Path, package: pathlib.Path) -> None:
    """Reads the checkpoints in folder; the graphs go to package, and parity.json to folder."""
    parts = {name: round_rows(load_part(folder, name)) for name in ("text-encoder", "denoiser")}
    parts |= {name: round_to_half(load_part(folder, name)) for name in ("scene-codec", "sprite-codec", "sound")}
    parts["image-encoder"] = round_rows(load_part(folder, "image-encoder"))
    parts["sprite-codec"] = round_basis(parts["sprite-codec"])
    graphs = {**learned_graphs(parts), "canvas-decoder": canvas_graph(parts), **written_graphs(parts)}
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
    noisy = torch.randn(2, STILL_COUNT + 8, CHANNELS)
    latents = ["batch", "tokens", CHANNELS]
    return {
        "text-encoder": export_rounded(
            parts["text-encoder"], (ids,), {"input_ids": ["batch", *ids.shape[1:]]}, *TEXT_OUTPUTS
        ),
        "denoiser": export_rounded(
            parts["denoiser"],
            (noisy, torch.rand(2), slots),
            {
                "sample": latents,
                "timestep": ["batch"],
                "encoder_hidden_states": ["batch", SLOTS, SLOT_WIDTH],
            },
            ("velocity", latents),
        ),
        "image-encoder": export_rounded(
            parts["image-encoder"],
            (torch.rand(1, 3, 90, 160) * 2 - 1,),
            {"pixels": [1, 3, 90, 160]},
            ("latents", [1, CANVAS_TOKENS, CHANNELS]),
        ),
        "sound": export_module(
            SoundModel(parts["sound"]),
            (slots[:1], torch.randn(1, 2, 96000)),
            {"encoder_hidden_states": [1, SLOTS, SLOT_WIDTH], "noise": [1, 2, "samples"]},
            ("waveform", [1, 2, "samples"]),
        ),
    }


def canvas_graph(parts):
    """canvas-decoder.onnx."""
    arguments = (noisy_still(), *centres(36, 64), torch.arange(60) / 36, torch.arange(88) / 36)
    return export_module(
        CanvasDecoder(parts["scene-codec"]),
        arguments,
        {
            "latents": [1, "tokens", CHANNELS],
            "rows": ["height"],
            "columns": ["width"],
            "tile_rows": ["tile_height"],
            "tile_columns": ["tile_width"],
        },
        ("luma", [1, 1, "height", "width"]),
        ("chroma", [1, 2, "half_height", "half_width"]),
        ("bands", [2, "height", "width"]),
        ("tile", ["tile_height", "tile_width"]),
        ("looks", [3, 6]),
        fold=False,
    )


def noisy_still():
    """Tokens of no scene in particular."""
    return torch.randn(1, STILL_COUNT + 8, CHANNELS)


def written_graphs(parts):
    """Graphs that are written node by node."""
    return {
        "scene-decoder": build_scene_decoder(parts["scene-codec"], parts["sprite-codec"]),
        "frame-decoder": build_frame_decoder(),
        "picture-canvas": build_picture_canvas(),
    }


def example_prompt(seed: int) -> str:
    """A caption of the grammar."""
    rng = Chooser(seed)
    return write_caption(sample_scene(rng), rng)[0]


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

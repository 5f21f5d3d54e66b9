"""Writes model.json and the small settings beside it: what a runtime must know about the package."""

import hashlib
import json
import pathlib

from motion import shapes as motion_shapes
from motion import tokenizer as motion_tokenizer

from .shapes import CHANNELS, SIZES

SHIFT = 2.0
SAMPLER = {"steps": 24, "guidance": 2.0}
FILES = {
    "model-index": "model_index.json",
    "scheduler-config": "scheduler_config.json",
    "denoiser-config": "denoiser_config.json",
    "vae-decoder-config": "still_decoder_config.json",
    "text-encoder": "text-encoder.onnx",
    "denoiser": "denoiser.onnx",
    "vae-decoder": "still-decoder.onnx",
}
SETTINGS = {
    "model_index.json": {"_class_name": "VectorScenePipeline"},
    "scheduler_config.json": {
        "_class_name": "FlowMatchEulerDiscreteScheduler",
        "num_train_timesteps": 1000,
        "shift": SHIFT,
    },
    "denoiser_config.json": {"in_channels": CHANNELS, "joint_attention_dim": motion_shapes.SLOT_WIDTH},
    "still_decoder_config.json": {"scaling_factor": 1.0},
}


def write_manifest(package: pathlib.Path, folder: pathlib.Path) -> None:
    """folder: of the build, where memory.json says measured peaks ("1024x1024" -> bytes)."""
    for name, settings in SETTINGS.items():
        (package / name).write_text(json.dumps(settings, indent=2) + "\n")
    measured = folder / "memory.json"
    manifest = {
        "id": "service-image-1",
        "modality": "image",
        "pipeline": "diffusion-image",
        "files": {role: describe_file(package, name) for role, name in FILES.items()},
        "tokenizer": motion_tokenizer.SETTINGS,
        "execution": {"providers": ["cpu"], "precision": {"cpu": "fp32"}},
        "shapes": {"sizes": SIZES, "reads": ["text"]},
        "sampler": SAMPLER,
        "limits": {"promptWords": motion_shapes.PROMPT_WORDS},
        "memory": json.loads(measured.read_text()) if measured.exists() else {},
        "licence": "Apache-2.0",
        "source": "made from nothing by the recipe in train/, on procedural scenes only",
        "card": "README.md",
    }
    (package / "model.json").write_text(json.dumps(manifest, indent=2) + "\n")


def describe_file(package: pathlib.Path, name: str) -> dict:
    """Path inside the package, sha256 and size."""
    content = (package / name).read_bytes()
    return {"path": name, "sha256": hashlib.sha256(content).hexdigest(), "byteLength": len(content)}

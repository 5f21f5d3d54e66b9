"""Writes model.json: what a runtime must know about the package."""

import hashlib
import json
import pathlib

from . import shapes, tokenizer

ROLES = [
    "text-encoder",
    "denoiser",
    "canvas-decoder",
    "scene-decoder",
    "frame-decoder",
    "image-encoder",
    "picture-canvas",
    "sound",
]
SIZES = [[720, 1280], [1080, 1920]]
WINDOW_FRAMES = 3
SAMPLER = {
    "kind": "flow-euler",
    "steps": 10,
    "shift": 2.0,
    "guidance": 1.5,
    "firstStepGuidanceFraction": 0.5,
}
IMAGE_CONDITIONING = {"pull": 0.6, "drift": 0.09}
"""README.md, "A picture", says what these mean."""


def write_manifest(package: pathlib.Path, memory: dict[str, int]) -> None:
    """memory: "1280x720x4" -> measured peak bytes of the process."""
    manifest = {
        "id": "service-motion-1",
        "modality": "video",
        "pipeline": "flow-video",
        "files": {role: describe_file(package / f"{role}.onnx") for role in ROLES},
        "tokenizer": tokenizer.SETTINGS,
        "execution": {"providers": ["cpu"], "ahead": 1, "precision": {"cpu": "fp32"}},
        "shapes": {
            "frameRate": shapes.FRAME_RATE,
            "latentsPerSecond": shapes.LATENTS_PER_SECOND,
            "stillTokens": shapes.STILL_COUNT,
            "canvasTokens": shapes.CANVAS_TOKENS,
            "channels": shapes.CHANNELS,
            "framesPerLatent": shapes.FRAMES_PER_LATENT,
            "tilePeriod": shapes.TILE_PERIOD,
            "sampleRateHz": shapes.SAMPLE_RATE_HZ,
            "channelsAudio": 2,
            "sizes": SIZES,
            "windowFrames": WINDOW_FRAMES,
            "imageConditioning": IMAGE_CONDITIONING,
        },
        "sampler": SAMPLER,
        "limits": {"minSeconds": 4, "maxSeconds": 10, "promptWords": shapes.PROMPT_WORDS},
        "memory": memory,
        "licence": "Apache-2.0",
        "source": "made from nothing by the recipe in train/, on procedural scenes and sounds only",
        "card": "README.md",
    }
    (package / "model.json").write_text(json.dumps(manifest, indent=2) + "\n")


def describe_file(path: pathlib.Path) -> dict:
    """Path inside the package, sha256 and size."""
    content = path.read_bytes()
    return {"path": path.name, "sha256": hashlib.sha256(content).hexdigest(), "byteLength": len(content)}

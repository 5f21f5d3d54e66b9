"""Writes model.json: what a runtime must know about the package."""

import hashlib
import json
import pathlib

from .acoustic_model import FRAMES_PER_STEP
from .mel import BINS
from .phones import PHONES, SILENCE

NAME = "service-transcribe-1"
FILES = {
    "acoustic-model": "acoustic-model.onnx",
    "language-model": "language-model.bin",
    "lexicon": "lexicon.tsv",
}
SAMPLER = {"languageWeight": 0.8, "wordBonus": 0.5, "beam": 12, "maxHypotheses": 300}
WINDOW_SECONDS = 20


def write_manifest(package: pathlib.Path, memory: dict[str, int]) -> None:
    """memory: what -> measured peak bytes of the process."""
    manifest = {
        "id": NAME,
        "modality": "transcription",
        "pipeline": "ctc",
        "files": {role: describe_file(package / path) for role, path in FILES.items()},
        "execution": {"providers": ["cpu"], "precision": {"cpu": "fp32"}},
        "shapes": {
            "melBins": BINS,
            "framesPerStep": FRAMES_PER_STEP,
            "windowSeconds": WINDOW_SECONDS,
            "phones": [SILENCE, *PHONES],
            "language": "en",
        },
        "sampler": SAMPLER,
        "limits": {"maxSeconds": 7200},
        "memory": memory,
        "licence": "Apache-2.0",
        "source": "made from nothing by the recipe in train/, on synthetic speech and recordings of Debian's packages",
        "card": "README.md",
    }
    (package / "model.json").write_text(json.dumps(manifest, indent=2) + "\n")


def describe_file(path: pathlib.Path) -> dict:
    """Path inside the package, sha256 and size."""
    content = path.read_bytes()
    return {"path": path.name, "sha256": hashlib.sha256(content).hexdigest(), "byteLength": len(content)}

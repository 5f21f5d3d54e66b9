"""Writes the voice's config and model.json: what a runtime must know about the package."""

import hashlib
import json
import pathlib

from .teachers import VOICES
from .symbols import CHARACTER_IDS, PAUSES, SOUNDS
from .vocoder import RATE

FILES = {"model": "voice.onnx", "config": "voice.onnx.json"}
SOURCE = (
    "made from nothing by the recipe in train/, on speech of flite's and of CMU ARCTIC's HTS voices "
    "and on words of WordNet"
)
UNREAD = {'"': [], "(": [], ")": [], "/": [" "]}
"""Marks that no training text has: left out, or a space."""


def voice_config() -> str:
    """As a Piper voice has it."""
    config = {
        "audio": {"sample_rate": RATE},
        "espeak": {"voice": "en-us"},
        "language": {"code": "en_US"},
        "inference": {"noise_scale": 1.0, "length_scale": 1.0, "noise_w": 1.0},
        "phoneme_type": "text",
        "phoneme_map": UNREAD,
        "phoneme_id_map": {character: [index] for character, index in CHARACTER_IDS.items()},
        "num_symbols": len(CHARACTER_IDS),
        "num_speakers": len(VOICES),
        "speaker_id_map": {voice: index for index, voice in enumerate(VOICES)},
    }
    return json.dumps(config, indent=1, ensure_ascii=False) + "\n"


def phone_table() -> str:
    """What the evaluation reads: the phones by the rows of the weights that the graph looks them up in."""
    phones = ["" if name in PAUSES else name.rstrip("1") for name in SOUNDS]
    return json.dumps({"weights": "speaker.sounds.weight", "phones": phones}) + "\n"


def write_manifest(package: pathlib.Path) -> None:
    """model.json of the files that lie in the package."""
    manifest = {
        "id": "service-voice-1",
        "modality": "speech",
        "pipeline": "vits",
        "files": {role: describe_file(package / name) for role, name in FILES.items()},
        "execution": {
            "providers": ["cpu"],
            "precision": {"cpu": "fp32"},
            "concurrency": 1,
            "slot": "own",
        },
        "shapes": {"sampleRateHz": RATE, "voices": list(VOICES)},
        "limits": {},
        "memory": {},
        "licence": "Apache-2.0",
        "source": SOURCE,
        "card": "README.md",
    }
    (package / "model.json").write_text(json.dumps(manifest, indent=2) + "\n")


def describe_file(path: pathlib.Path) -> dict:
    """Path inside the package, sha256 and size."""
    content = path.read_bytes()
    return {"path": path.name, "sha256": hashlib.sha256(content).hexdigest(), "byteLength": len(content)}

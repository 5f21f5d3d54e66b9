"""Writes model.json: what a runtime must know about the package."""

import hashlib
import json
import pathlib

from . import vocabulary as v
from .contexts import NO_BAR, NO_CHORD, NO_STEP, OLDEST, PACES, STEP_LAGS
from .prompt_reader import HEADS
from .room import CONTEXT
from .synthesiser import RATE_HZ, TAPS, WINDOW
from .teacher_timbres import stretch_of
from .tokenizer import BUCKETS, GRAM, IDS_PER_WORD, WORDS

ROLES = ["prompt-reader", "arranger", "planner", "composer", "synthesiser", "room"]
PANS = {"kick": 0.0, "snare": 0.05, "hat": 0.3, "colour": -0.3, "bass": 0.0, "pad 1": -0.4, "pad 2": 0.4, "pad 3": 0.0, "comp 1": -0.25, "comp 2": -0.2, "comp 3": -0.15, "lead": 0.1, "counter": 0.35}
ROOM_WINDOW = 131_072
SAMPLER = {
    "promptTemperature": 0.7, "arranger": {"temperature": 0.7, "least": 0.1}, "planner": {"temperature": 0.8, "least": 0.05},
    "composer": {"temperature": 0.85, "least": 0.06},
}  # fmt: skip


def write_manifest(package: pathlib.Path) -> None:
    """Describes the graphs that lie in the package."""
    memory = json.loads((package / "model.json").read_text())["memory"] if (package / "model.json").exists() else {}
    manifest = {
        "id": "service-music-1",
        "modality": "music",
        "pipeline": "score",
        "files": {role: describe_file(package / f"{role}.onnx") for role in ROLES},
        "tokenizer": {"kind": "hashed-ngram", "buckets": BUCKETS, "words": WORDS, "idsPerWord": IDS_PER_WORD, "gram": GRAM},
        "execution": {"providers": ["cpu"], "precision": {"cpu": "fp32"}},
        "shapes": {
            "sampleRateHz": RATE_HZ,
            "synthesiser": {"windowSamples": WINDOW, "noiseContextSamples": TAPS - 1},
            "room": {"windowSamples": ROOM_WINDOW, "contextSamples": CONTEXT},
            "tempo": {"lowestBpm": v.LOWEST_BPM, "binLog": v.BPM_STEP, "paceLog": 0.2, "paces": PACES + 1},
            "heads": list(HEADS),
            "beats": v.METERS,
            "stepsPerBeat": v.STEPS_PER_BEAT,
            "tracks": v.TRACKS,
            "parts": describe_voices(),
            "repeats": v.REPEATS,
            "barLags": v.BAR_LAGS,
            "stepLags": STEP_LAGS,
            "tokens": {"held": v.HELD, "stop": v.STOP, "firstPitch": v.FIRST_PITCH, "noStep": NO_STEP, "noBar": NO_BAR, "noChord": NO_CHORD, "oldest": OLDEST},
            "tailSeconds": [round(stretch_of(name), 3) for name in v.SOUNDS],
        },
        "sampler": SAMPLER,
        "limits": {"minSeconds": 1, "maxSeconds": 60, "promptWords": WORDS, "bars": v.LONGEST_BARS},
        "memory": memory,
        "licence": "Apache-2.0",
        "source": "made from nothing by the recipe in train/, on music that a procedural teacher composes and plays",
        "card": "README.md",
    }  # fmt: skip
    (package / "model.json").write_text(json.dumps(manifest, indent=2) + "\n")


def describe_voices() -> list[dict]:
    """Track, place in the stereo field, and either the lowest note or the sounds of its tokens from 1 on."""
    rows = []
    for (name, track), lowest in zip(v.VOICES, v.LOWEST_NOTES, strict=True):
        row = {"name": name, "track": v.TRACKS.index(track), "pan": PANS[name]}
        own = {"lowestNote": lowest} if track != "drums" else {"sounds": [v.SOUNDS.index(one) for one in v.DRUM_TOKENS[name]]}
        rows.append({**row, **own})
    return rows


def describe_file(path: pathlib.Path) -> dict:
    """Path inside the package, sha256 and size."""
    content = path.read_bytes()
    return {"path": path.name, "sha256": hashlib.sha256(content).hexdigest(), "byteLength": len(content)}

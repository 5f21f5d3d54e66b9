"""Writes model.json: what a runtime must know about a package."""

import hashlib
import json
import pathlib


def write_json(path: pathlib.Path, content: object) -> None:
    """Indented by two, with a line's end."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n")


def write_lines(path: pathlib.Path, rows: list) -> None:
    """One JSON value a line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))


def write_manifest(package: pathlib.Path, modality: str, shapes: dict, limits: dict, source: str) -> None:
    """For a package of pipeline `encoder`: model.onnx, config.json, tokenizer.json, tokenizer_config.json."""
    roles = {
        "encoder": "model.onnx",
        "config": "config.json",
        "tokenizer": "tokenizer.json",
        "tokenizer-config": "tokenizer_config.json",
    }
    manifest = {
        "id": package.name,
        "modality": modality,
        "pipeline": "encoder",
        "files": {role: describe_file(package / path) for role, path in roles.items()},
        "execution": {"providers": ["cpu"], "precision": {"cpu": "fp32"}, "concurrency": 32},
        "shapes": shapes,
        "limits": limits,
        "memory": {},
        "licence": "Apache-2.0",
        "source": source,
        "card": "README.md",
    }
    write_json(package / "model.json", manifest)


def describe_file(path: pathlib.Path) -> dict:
    """Name, sha256 and size."""
    content = path.read_bytes()
    return {"path": path.name, "sha256": hashlib.sha256(content).hexdigest(), "byteLength": len(content)}


def write_configs(package: pathlib.Path, tokenizer: pathlib.Path, config: dict, most_tokens: int) -> None:
    """config.json, tokenizer_config.json and a copy of tokenizer.json."""
    (package / "tokenizer.json").write_bytes(tokenizer.read_bytes())
    shared = {"model_type": "framemill-encoder", "max_position_embeddings": most_tokens, "pad_token_id": 0}
    write_json(package / "config.json", {**config, **shared})
    tokens = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    write_json(package / "tokenizer_config.json", {**tokens, "model_max_length": most_tokens})

"""What the recipes of tiny exports share: coarse random weights, tokenizers, goldens."""

import argparse
import base64
import io
import json
import math
import os
import re
import shutil
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from tokenizers import (
    AddedToken,
    Regex,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)

CORPUS = [
    "The boat crosses the harbour while gulls call above the quiet water.",
    "Which train leaves for the mountains after nine in the morning?",
    "She wrote 1234 letters, 56 of them in red ink, and sent them all by 2019.",
    "Rain fell on the roof; the children stayed inside and built a tower of blocks.",
    "Does a kettle boil faster with the lid on? Yes, it loses less heat.",
    "El faro ilumina la costa. Der Hund schläft unter dem Tisch. Où est la gare ?",
    "for (let i = 0; i < 10; i++) { total += values[i]; }",
    "A short answer is often better than a long one, he said, and smiled.",
]

GPT2_SPLIT = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
QWEN_SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
LLAMA3_SPLIT = QWEN_SPLIT.replace(r"|\p{N}|", r"|\p{N}{1,3}|")


class Noise:
    """The service's own draws from a seed (src/models/sampling/noise.ts): Box-Muller over 32-bit hashes."""

    def __init__(self, seed: int) -> None:
        self.state = seed & 0xFFFFFFFF

    def uniform(self, count: int) -> np.ndarray:
        steps = np.arange(1, count + 1, dtype=np.uint64) * 0x9E3779B9
        mixed = (steps + self.state) & 0xFFFFFFFF
        self.state = int(mixed[-1])
        for shift, factor in ((16, 0x21F0AAAD), (15, 0x735A2D97)):
            mixed = ((mixed ^ (mixed >> np.uint64(shift))) * factor) & 0xFFFFFFFF
        return (mixed ^ (mixed >> np.uint64(15))) / 2**32

    def draw(self, shape: tuple[int, ...]) -> torch.Tensor:
        length = math.prod(shape)
        pairs = self.uniform(2 * math.ceil(length / 2)).reshape(-1, 2)
        radius, angle = np.sqrt(-2 * np.log(1 - pairs[:, 0])), 2 * math.pi * pairs[:, 1]
        values = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
        return torch.from_numpy(values.reshape(-1)[:length].astype(np.float32)).reshape(shape)


def parse_arguments(description: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--out", type=Path, required=True, help="folder of the rows")
    parser.add_argument("--only", help="how the names of the rows to make begin")
    parsed = parser.parse_args()
    parsed.out.mkdir(parents=True, exist_ok=True)
    return parsed


def coarsen(model: torch.nn.Module, seed: int, step: float = 0.04) -> None:
    """Draws every weight from 15 values, which git packs well; scales of norms stay about 1."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, weight in sorted(model.named_parameters()):
            drawn = torch.randint(-7, 8, weight.shape, generator=generator) * step
            is_scale = weight.dim() == 1 and re.search(r"(norm|ln_)\w*\.weight$", name.lower())
            weight.copy_(drawn + 1 if is_scale else drawn)


def byte_level(split: str, specials: list[str], size: int = 320) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(split), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=size, initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator(CORPUS, trainer)
    tokenizer.add_special_tokens([AddedToken(token, special=True) for token in specials])
    return tokenizer


def sentencepiece_bpe(specials: list[str], size: int = 360) -> Tokenizer:
    """As Llama 2, Mistral 7B and Gemma have it: spaces as U+2581, unknown characters as bytes."""
    bytes_ = [f"<0x{byte:02X}>" for byte in range(256)]
    head = [*specials, *bytes_]
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True, fuse_unk=True))
    tokenizer.normalizer = normalizers.Replace(" ", "▁")
    trainer = trainers.BpeTrainer(
        vocab_size=len(head) + size - 256, special_tokens=head, show_progress=False
    )
    tokenizer.train_from_iterator(CORPUS, trainer)
    # Bytes are pieces of the vocabulary, no tokens that a text could hold.
    state = json.loads(tokenizer.to_str())
    state["added_tokens"] = [
        token for token in state["added_tokens"] if token["content"] in specials
    ]
    tokenizer = Tokenizer.from_str(json.dumps(state))
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    )
    return tokenizer


def wordpiece(size: int = 240) -> Tokenizer:
    specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    trainer = trainers.WordPieceTrainer(
        vocab_size=size, special_tokens=specials, show_progress=False
    )
    tokenizer.train_from_iterator(CORPUS, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    return tokenizer


def unigram(size: int = 200) -> Tokenizer:
    """As XLM-RoBERTa has it."""
    specials = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFKC()])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=size, special_tokens=specials, unk_token="<unk>", show_progress=False
    )
    tokenizer.train_from_iterator(CORPUS, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>",
        pair="<s> $A </s> </s> $B </s>",
        special_tokens=[("<s>", 0), ("</s>", 2)],
    )
    return tokenizer


def write_row(out: Path, name: str, golden: dict) -> Path:
    """Empties the row's folder and writes its golden.json; returns the folder of the model."""
    row = out / name
    shutil.rmtree(row, ignore_errors=True)
    (row / "model").mkdir(parents=True)
    (row / "golden.json").write_text(json.dumps(golden, indent=1, ensure_ascii=False) + "\n")
    return row / "model"


def write_json(path: Path, content: object) -> None:
    path.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n")


def settle(folder: Path) -> None:
    """As the hub has it: graphs in onnx/, and without files that nothing reads."""
    (folder / "onnx").mkdir()
    for graph in folder.glob("*.onnx*"):
        graph.rename(folder / "onnx" / graph.name)
    for name in ("special_tokens_map.json", "ort_config.json", "vocab.txt"):
        (folder / name).unlink(missing_ok=True)


def size_of(folder: Path) -> int:
    return sum(os.path.getsize(file) for file in folder.rglob("*") if file.is_file())


def write_floats(path: Path, tensor: torch.Tensor) -> None:
    path.write_bytes(tensor.detach().numpy().astype("<f4").tobytes())


def tiny_picture(generator: torch.Generator) -> Image.Image:
    tiles = torch.randint(0, 16, (8, 8, 3), generator=generator) * 17
    pixels = tiles.repeat_interleave(8, 0).repeat_interleave(8, 1)
    return Image.fromarray(pixels.numpy().astype("uint8"))


def data_url(picture: Image.Image) -> str:
    with io.BytesIO() as file:
        picture.save(file, "PNG")
        return f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}"

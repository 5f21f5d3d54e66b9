"""Decoders as published, at tiny sizes with random weights: what the recipes beside this file share."""

import json
import shutil
from pathlib import Path

import onnx
import torch
import transformers
from optimum.exporters.onnx import main_export
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

EXPORTER = (
    f"optimum-onnx 0.1.0, transformers {transformers.__version__}, "
    f"torch {torch.__version__.split('+')[0]}"
)

# How Qwen and Llama 3 split words, but for the digits that they take together.
WORDS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"


def byte_tokenizer(words, special, *, plain=(), **named):
    """Byte-level BPE of at most 300 tokens in which each of `words` is one."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(WORDS), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=300 - len(special) - len(plain),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(["\n".join(words)] * 4, trainer)
    tokenizer.add_special_tokens(list(special))
    tokenizer.add_tokens(list(plain))
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, **named)
    for word in words:
        ids = fast.encode(word, add_special_tokens=False)
        assert len(ids) == 1, f"{word} is {len(ids)} tokens"
    assert len(fast) <= 300
    return fast


def fill(model, seed):
    """Weights of 15 values, which pack well; norms stay as they are."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.dim() < 2:
                continue
            drawn = torch.randint(0, 15, weight.shape, generator=generator)
            weight.copy_((drawn - 7) * 0.05)
    return model.eval()


def export(model, tokenizer, folder, task, scratch):
    """The folder as optimum makes it and onnx-community keeps it: the graph below onnx/."""
    saved = scratch / "saved"
    shutil.rmtree(scratch, ignore_errors=True)
    model.save_pretrained(saved)
    tokenizer.save_pretrained(saved)
    main_export(str(saved), str(scratch / "made"), task=task, do_validation=False)
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "onnx").mkdir(parents=True)
    for path in sorted((scratch / "made").iterdir()):
        if path.name in {"special_tokens_map.json", "ort_config.json"}:
            continue
        is_graph = path.suffix in {".onnx", ".onnx_data"}
        target = folder / "onnx" / path.name if is_graph else folder / path.name
        shutil.copy(path, target)
    for graph in (folder / "onnx").glob("*.onnx"):
        strip(graph)
    shutil.rmtree(scratch)


def strip(path):
    """Leaves out what only people read of a graph."""
    model = onnx.load(path)
    del model.metadata_props[:]
    for node in model.graph.node:
        node.doc_string = ""
        del node.metadata_props[:]
    onnx.save(model, path)


def write_golden(row, model, modality, cases, *, exporter=EXPORTER, tolerance=1e-3):
    golden = {
        "model": model,
        "exporter": exporter,
        "modality": modality,
        "add": {"as": modality},
        "tolerance": tolerance,
        "cases": cases,
    }
    text = json.dumps(golden, indent=1, ensure_ascii=False)
    (Path(row) / "golden.json").write_text(text + "\n")

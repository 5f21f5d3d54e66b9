"""Qwen3-Reranker as optimum exports it, with caches and without, and with a score in place of a vocabulary."""

import argparse
from pathlib import Path

import torch
from tiny_decoders import byte_tokenizer, export, fill, write_golden
from transformers import Qwen3Config, Qwen3ForCausalLM, Qwen3ForSequenceClassification

INSTRUCTION = "Given a web search query, retrieve relevant passages that answer the query"
HEAD = (
    "<|im_start|>system\nJudge whether the Document meets the requirements based on the Query and "
    'the Instruct provided. Note that the answer can only be "yes" or "no".<|im_end|>\n'
    "<|im_start|>user\n"
)
TAIL = "<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n"

QUERY = "what is the capital of China?"
DOCUMENTS = [
    "The capital of China is Beijing.",
    "Gravity draws two bodies to one another; it gives weight to things.\nIt keeps planets on their ways.",
    "Peking",
    "",
    "  two spaces, then “quotes” — 数字 12 345",
]
CUT = 7

tokenizer = byte_tokenizer(
    ["yes", "no", " the", " is", "query", "document"],
    ["<|endoftext|>", "<|im_start|>", "<|im_end|>"],
    plain=["<think>", "</think>"],
    pad_token="<|endoftext|>",
    eos_token="<|im_end|>",
    model_max_length=1024,
)
config = Qwen3Config(
    vocab_size=len(tokenizer),
    hidden_size=32,
    intermediate_size=48,
    num_hidden_layers=2,
    num_attention_heads=4,
    num_key_value_heads=2,
    head_dim=8,
    max_position_embeddings=1024,
    tie_word_embeddings=True,
    bos_token_id=None,
    eos_token_id=tokenizer.eos_token_id,
    pad_token_id=tokenizer.pad_token_id,
)


def prompt(document, cut=None):
    """The ids of the published code, which joins its parts as ids."""
    plain = lambda text: tokenizer.encode(text, add_special_tokens=False)
    asked = f"<Instruct>: {INSTRUCTION}\n<Query>: {QUERY}\n<Document>:"
    content = plain(f"{asked} {document}")
    if cut is not None:
        content = content[: len(plain(asked)) + cut]
    return plain(HEAD) + content + plain(TAIL)


@torch.no_grad()
def by_tokens(model, ids):
    logits = model(torch.tensor([ids])).logits[0, -1]
    yes, no = (tokenizer.convert_tokens_to_ids(word) for word in ("yes", "no"))
    return torch.softmax(logits[[no, yes]], 0)[1].item()


@torch.no_grad()
def by_score(model, ids):
    return torch.sigmoid(model(torch.tensor([ids])).logits[0, 0]).item()


def write_row(out, name, title, model, task, score):
    row = out / name
    export(model, tokenizer, row / "model", task, out / ".scratch")
    request = {"query": QUERY, "documents": DOCUMENTS}
    cases = [
        {"request": request, "expected": {"scores": [score(model, prompt(text)) for text in DOCUMENTS]}},
        {
            "request": {**request, "max_tokens_per_doc": CUT},
            "expected": {"scores": [score(model, prompt(text, CUT)) for text in DOCUMENTS]},
        },
    ]
    write_golden(row, title, "rerank", cases)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    out = parser.parse_args().out
    causal = fill(Qwen3ForCausalLM(config), 1)
    write_row(out, "rerank-qwen-3", "Qwen3-Reranker", causal, "text-generation-with-past", by_tokens)
    write_row(
        out,
        "rerank-qwen-3-without-cache",
        "Qwen3-Reranker without caches",
        causal,
        "text-generation",
        by_tokens,
    )
    config.num_labels = 1
    scores = fill(Qwen3ForSequenceClassification(config), 2)
    write_row(
        out,
        "rerank-qwen-3-scores",
        "Qwen3-Reranker with a score",
        scores,
        "text-classification",
        by_score,
    )


main()

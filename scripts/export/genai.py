"""Decoders as ONNX Runtime GenAI's builder makes them, and what PyTorch or GenAI itself finds.

Needs onnxruntime-genai 0.18.0, transformers 5.3.0, torch 2.8.0 and onnx-ir 1.1.0, in an environment of their own.
"""

import math
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

import common
import onnxruntime_genai as og
import torch
import transformers
from transformers import PreTrainedTokenizerFast

TOKENS = 20
CONVERSATIONS = [
    [{"role": "user", "content": "Which boat is quiet?"}],
    [
        {"role": "user", "content": "Does it rain in 2019?"},
        {"role": "assistant", "content": "Yes, on the roof."},
        {"role": "user", "content": "And where do the children build a tower while it falls?"},
    ],
]
CHATML = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
# The runtime looks for them beside the graph, and nothing else does.
NEEDLESS = ("special_tokens_map.json", "vocab.json", "merges.txt", "added_tokens.json")


def make_tokenizer():
    specials = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    return PreTrainedTokenizerFast(
        tokenizer_object=common.byte_level(common.QWEN_SPLIT, specials),
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        chat_template=CHATML,
    )


def sizes(tokenizer):
    return dict(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=16,
        max_position_embeddings=512,
        tie_word_embeddings=False,
        bos_token_id=tokenizer.pad_token_id,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        dtype="float32",
    )


def qwen3(tokenizer):
    return transformers.Qwen3ForCausalLM(transformers.Qwen3Config(**sizes(tokenizer)))


def qwen3_5(tokenizer):
    """One layer of linear attention, whose memory has one size, and one of full attention."""
    rope = {"rope_type": "default", "rope_theta": 10_000.0, "mrope_section": [2, 1, 1]}
    text = dict(
        sizes(tokenizer),
        head_dim=32,
        layer_types=["linear_attention", "full_attention"],
        linear_key_head_dim=16,
        linear_value_head_dim=16,
        linear_num_key_heads=2,
        linear_num_value_heads=4,
        rope_parameters={**rope, "partial_rotary_factor": 0.25, "mrope_interleaved": True},
    )
    vision = dict(depth=1, hidden_size=16, intermediate_size=32, num_heads=2, out_hidden_size=32)
    config = transformers.Qwen3_5Config(
        text_config=text, vision_config=vision, tie_word_embeddings=False
    )
    return transformers.Qwen3_5ForConditionalGeneration(config)


def gpt_oss(tokenizer):
    """One layer sees a window of 32 tokens, in a cache of a length of its own."""
    config = transformers.GptOssConfig(
        **sizes(tokenizer),
        num_local_experts=4,
        num_experts_per_tok=2,
        sliding_window=32,
        layer_types=["sliding_attention", "full_attention"],
    )
    return transformers.GptOssForCausalLM(config)


def make_model(build, tokenizer, seed):
    model = build(tokenizer).eval()
    common.coarsen(model, seed, 0.06)
    with torch.no_grad():
        for token in range(len(tokenizer)):
            text = tokenizer.decode([token])
            if (
                not (text.isascii() and text.isprintable() and text)
                or token in tokenizer.all_special_ids
            ):
                model.get_output_embeddings().weight[token] = 0
    return model


class ByTorch:
    def __init__(self, model):
        self.model = model

    @torch.no_grad()
    def logits(self, ids):
        return self.model(torch.tensor([ids]), use_cache=False).logits[0, -1].double()


class ByGenai:
    def __init__(self, folder):
        self.model = og.Model(str(folder))

    def logits(self, ids):
        params = og.GeneratorParams(self.model)
        params.set_search_options(max_length=512, do_sample=False)
        generator = og.Generator(self.model, params)
        generator.append_tokens(ids)
        return torch.tensor(generator.get_logits()).reshape(-1).double()


def greedy(engine, tokenizer, messages):
    ids = tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_dict=False)
    prompt = len(ids)
    first, margin = None, math.inf
    for _ in range(TOKENS):
        logits = engine.logits(ids)
        top = torch.topk(logits, 2).values
        margin = min(margin, float(top[0] - top[1]))
        if first is None:
            first = float(torch.log_softmax(logits, -1).max())
        ids = [*ids, int(logits.argmax())]
    content = tokenizer.decode(ids[prompt:], skip_special_tokens=True)
    return {"content": content, "firstLogprob": first, "promptTokens": prompt}, margin


def build(model, tokenizer, folder, precision):
    with tempfile.TemporaryDirectory() as scratch:
        source = Path(scratch) / "source"
        model.save_pretrained(source)
        tokenizer.save_pretrained(source)
        (source / "generation_config.json").unlink(missing_ok=True)
        builder = [sys.executable, "-m", "onnxruntime_genai.models.builder"]
        options = [
            "-i",
            source,
            "-o",
            folder,
            "-p",
            precision,
            "-e",
            "cpu",
            "-c",
            f"{scratch}/cache",
        ]
        subprocess.run([*builder, *options], check=True, stdout=subprocess.DEVNULL)


def make(out, name, title, architecture, precision, reference):
    tokenizer = make_tokenizer()
    for seed in range(100):
        model = make_model(architecture, tokenizer, seed)
        with tempfile.TemporaryDirectory() as scratch:
            made = Path(scratch) / "made"
            build(model, tokenizer, made, precision)
            engine = ByTorch(model) if reference is ByTorch else ByGenai(made)
            found = [greedy(engine, tokenizer, messages) for messages in CONVERSATIONS]
            varied = all(len(set(answer["content"])) > 8 for answer, _ in found)
            if min(margin for _, margin in found) < 5e-3 or not varied:
                continue
            request = {"max_tokens": TOKENS, "temperature": 0, "logprobs": True}
            golden = {
                "model": f"{title} of GenAI's builder, {precision}",
                "exporter": f"onnxruntime-genai {version('onnxruntime-genai')}, "
                f"transformers {transformers.__version__}, torch {torch.__version__.split('+')[0]}",
                "modality": "chat",
                "tolerance": 2e-2 if precision == "int4" else 1e-3,
                "cases": [
                    {"request": {"messages": messages, **request}, "expected": answer}
                    for messages, (answer, _) in zip(CONVERSATIONS, found)
                ],
            }
            folder = common.write_row(out, name, golden)
            for path in sorted(made.iterdir()):
                if path.name not in NEEDLESS:
                    (folder / path.name).write_bytes(path.read_bytes())
        print(f"{name}: seed {seed}, {common.size_of(folder) / 1024:.0f} KiB", flush=True)
        return
    raise SystemExit(f"{name}: every seed has near ties")


ROWS = [
    ("genai-qwen-3", "Qwen3", qwen3, "fp32", ByTorch),
    ("genai-qwen-3-int4", "Qwen3", qwen3, "int4", ByGenai),
    ("genai-qwen-3.5", "Qwen3.5", qwen3_5, "fp32", ByTorch),
    # Its builder's rotary embedding is not quite PyTorch's.
    ("genai-gpt-oss", "gpt-oss", gpt_oss, "fp32", ByGenai),
]


def main():
    options = common.parse_arguments(__doc__)
    for name, *row in ROWS:
        if name.startswith(options.only or ""):
            make(options.out, name, *row)


if __name__ == "__main__":
    main()

"""The text side of models that also see or hear, in two graphs with onnx-community's names, by torch.onnx.

Needs torch 2.8.0 and transformers 4.57.6: see requirements.txt.
"""

import warnings

import common
import torch
import transformers
from text import CONVERSATIONS, TOKENS, chatml_tokenizer, greedy, silence_unprintable
from optimum.exporters.onnx.model_patcher import eager_mask_without_vmap, sdpa_mask_without_vmap
from transformers import DynamicCache
from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS

warnings.filterwarnings("ignore")
# Masks by vmap cannot be traced.
ALL_MASK_ATTENTION_FUNCTIONS.register("eager", eager_mask_without_vmap)
ALL_MASK_ATTENTION_FUNCTIONS.register("sdpa", sdpa_mask_without_vmap)

# Reads contents as lists of parts alone, as SmolVLM's does.
PARTS = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{% for part in m.content %}"
    "{% if part.type == 'text' %}{{ part.text }}{% endif %}{% endfor %}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
SIZES = {
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 512,
}


def smolvlm(tokenizer):
    text = transformers.LlamaConfig(**SIZES, vocab_size=len(tokenizer), head_dim=8)
    vision = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    config = transformers.SmolVLMConfig(text_config=text, vision_config=vision, image_token_id=0)
    return transformers.SmolVLMForConditionalGeneration(config)


def qwen2_vl(tokenizer):
    text = {
        **SIZES,
        "vocab_size": len(tokenizer),
        "rope_scaling": {"type": "mrope", "rope_type": "default", "mrope_section": [1, 1, 2]},
        "bos_token_id": tokenizer.pad_token_id,
        "eos_token_id": tokenizer.eos_token_id,
    }
    vision = {"depth": 1, "embed_dim": 16, "hidden_size": 32, "num_heads": 2}
    config = transformers.Qwen2VLConfig(text_config=text, vision_config=vision)
    return transformers.Qwen2VLForConditionalGeneration(config)


def gemma_3n(tokenizer):
    text = {
        **SIZES,
        "num_hidden_layers": 4,
        "intermediate_size": [48] * 4,
        "vocab_size": len(tokenizer),
        "vocab_size_per_layer_input": len(tokenizer),
        "hidden_size_per_layer_input": 4,
        "head_dim": 8,
        "laurel_rank": 4,
        "altup_num_inputs": 2,
        "num_kv_shared_layers": 0,
        "layer_types": ["sliding_attention", "full_attention"] * 2,
        "sliding_window": 16,
        "activation_sparsity_pattern": [0.0] * 4,
    }
    return transformers.Gemma3nForCausalLM(transformers.Gemma3nTextConfig(**text))


MAKERS = {
    "chat-smolvlm": ("SmolVLM", smolvlm),
    "chat-qwen2-vl": ("Qwen2-VL", qwen2_vl),
    "chat-gemma-3n": ("Gemma 3n", gemma_3n),
}


class Embedder(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.embed = model.get_input_embeddings()
        self.text = language_of(model)
        self.has_layers = hasattr(self.text, "get_per_layer_inputs")

    def forward(self, input_ids):
        embeds = self.embed(input_ids)
        if not self.has_layers:
            return embeds
        return embeds, self.text.get_per_layer_inputs(input_ids)


class TextDecoder(torch.nn.Module):
    """What a language model makes of embeddings, positions and caches."""

    def __init__(self, model, has_layers):
        super().__init__()
        self.text, self.head, self.has_layers = language_of(model), model.lm_head, has_layers
        self.softcap = getattr(self.text.config, "final_logit_softcapping", None)

    def forward(self, inputs_embeds, attention_mask, position_ids, *given):
        further = {"per_layer_inputs": given[0]} if self.has_layers else {}
        caches = given[1:] if self.has_layers else given
        past = DynamicCache.from_legacy_cache(tuple(zip(caches[::2], caches[1::2])))
        made = self.text(
            inputs_embeds=inputs_embeds,
            attention_mask=attention_mask,
            position_ids=position_ids,
            past_key_values=past,
            use_cache=True,
            **further,
        )
        logits = self.head(made.last_hidden_state)
        if self.softcap is not None:
            logits = torch.tanh(logits / self.softcap) * self.softcap
        kept = [tensor for layer in made.past_key_values.to_legacy_cache() for tensor in layer]
        return logits, *kept


def language_of(model):
    inner = model.model
    return getattr(inner, "language_model", None) or getattr(inner, "text_model", inner)


def export(model, folder):
    (folder / "onnx").mkdir()
    embedder = Embedder(model).eval()
    ids = torch.tensor([[1, 2, 3]])
    embedded = ["inputs_embeds"] + (["per_layer_inputs"] if embedder.has_layers else [])
    free = {0: "batch_size", 1: "sequence_length"}
    torch.onnx.export(
        embedder,
        (ids,),
        folder / "onnx" / "embed_tokens.onnx",
        input_names=["input_ids"],
        output_names=embedded,
        dynamic_axes={name: free for name in ["input_ids", *embedded]},
        opset_version=18,
        dynamo=False,
    )
    config = language_of(model).config
    planes = 3 if "mrope" in str(getattr(config, "rope_scaling", None)) else 0
    positions = torch.arange(2, 5).reshape(1, 3)
    if planes:
        positions = positions.expand(planes, 1, 3)
    layers = range(config.num_hidden_layers)
    names = [f"{layer}.{part}" for layer in layers for part in ("key", "value")]
    head = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    caches = [torch.randn(1, config.num_key_value_heads, 2, head) for _ in names]
    with torch.no_grad():
        made = embedder(ids)
    given = made if isinstance(made, tuple) else (made,)
    first, *layered = given
    pasts = [f"past_key_values.{name}" for name in names]
    presents = [f"present.{name}" for name in names]
    inputs = ["inputs_embeds", "attention_mask", "position_ids", *embedded[1:], *pasts]
    position_axes = {1: "batch_size", 2: "sequence_length"} if planes else free
    torch.onnx.export(
        TextDecoder(model, embedder.has_layers).eval(),
        (first, torch.ones(1, 5, dtype=torch.int64), positions, *layered, *caches),
        folder / "onnx" / "decoder_model_merged.onnx",
        input_names=inputs,
        output_names=["logits", *presents],
        dynamic_axes={
            **{name: free for name in [*embedded, "logits"]},
            "attention_mask": {0: "batch_size", 1: "total_sequence_length"},
            "position_ids": position_axes,
            **{name: {0: "batch_size", 2: "past_sequence_length"} for name in pasts},
            **{name: {0: "batch_size", 2: "total_sequence_length"} for name in presents},
        },
        opset_version=18,
        dynamo=False,
    )


def make(out, name):
    title, make_model = MAKERS[name]
    tokenizer = chatml_tokenizer()
    for seed in range(100):
        model = make_model(tokenizer).eval()
        common.coarsen(model, seed, 0.06)
        silence_unprintable(model, tokenizer)
        found = [greedy(model, tokenizer, messages) for messages in CONVERSATIONS]
        varied = all(len(set(answer["content"])) > 8 for answer, _ in found)
        if min(margin for _, margin in found) > 2e-3 and varied:
            break
    else:
        raise SystemExit(f"{name}: every seed has near ties")
    request = {"max_tokens": TOKENS, "temperature": 0, "logprobs": True}
    golden = {
        "model": f"{title}, its text",
        "exporter": f"torch.onnx, transformers {transformers.__version__}, torch {torch.__version__.split('+')[0]}",
        "modality": "chat",
        "tolerance": 1e-3,
        "cases": [
            {"request": {"messages": messages, **request}, "expected": answer}
            for messages, (answer, _) in zip(CONVERSATIONS, found)
        ],
    }
    folder = common.write_row(out, name, golden)
    export(model, folder)
    tokenizer.chat_template = PARTS
    tokenizer.save_pretrained(folder)
    (folder / "special_tokens_map.json").unlink()
    # No more of a configuration than says what the model is.
    config = {
        "architectures": [type(model).__name__.replace("ForCausalLM", "ForConditionalGeneration")],
        "model_type": model.config.model_type.removesuffix("_text"),
        "text_config": {"max_position_embeddings": 512},
    }
    common.write_json(folder / "config.json", config)
    common.write_json(folder / "generation_config.json", {"eos_token_id": tokenizer.eos_token_id})
    print(f"{name}: seed {seed}, {common.size_of(folder) / 1024:.0f} KiB", flush=True)


def main():
    options = common.parse_arguments(__doc__)
    for name in MAKERS:
        if name.startswith(options.only or ""):
            make(options.out, name)


if __name__ == "__main__":
    main()

"""Tiny exports of language models, embedders, rerankers and classifiers, and what PyTorch finds.

Needs torch 2.8.0, transformers 4.57.6, optimum-onnx 0.1.0, onnx 1.23.2, sentence-transformers 5.7.0:
see requirements.txt. Weights are random: the rows prove plumbing and numbers, no quality.
"""

import logging
import math
import warnings
from importlib.metadata import version

import common
import onnx
import torch
import transformers
from optimum.exporters.onnx import onnx_export_from_model
from tokenizers import processors
from transformers import PreTrainedTokenizerFast

logging.disable(logging.WARNING)
warnings.filterwarnings("ignore")

EXPORTER = (
    f"optimum-onnx {version('optimum-onnx')}, transformers {transformers.__version__}, "
    f"torch {torch.__version__.split('+')[0]}"
)
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
HEADERS = (
    "{{ bos_token }}{% for m in messages %}<|start_header_id|>{{ m.role }}<|end_header_id|>\n\n"
    "{{ m.content | trim }}<|eot_id|>{% endfor %}"
    "{% if add_generation_prompt %}<|start_header_id|>assistant<|end_header_id|>\n\n{% endif %}"
)
TURNS = (
    "{{ bos_token }}{% for m in messages %}<start_of_turn>"
    "{{ 'model' if m.role == 'assistant' else m.role }}\n{{ m.content | trim }}<end_of_turn>\n"
    "{% endfor %}{% if add_generation_prompt %}<start_of_turn>model\n{% endif %}"
)
INSTRUCT = (
    "{{ bos_token }}{% for m in messages %}{% if m.role == 'user' %}[INST] {{ m.content }} [/INST]"
    "{% else %} {{ m.content }}{{ eos_token }}{% endif %}{% endfor %}"
)


def chatml_tokenizer(split=common.QWEN_SPLIT):
    specials = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    return PreTrainedTokenizerFast(
        tokenizer_object=common.byte_level(split, specials),
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        chat_template=CHATML,
    )


def llama3_tokenizer():
    specials = ["<|begin_of_text|>", "<|eot_id|>", "<|start_header_id|>", "<|end_header_id|>"]
    return PreTrainedTokenizerFast(
        tokenizer_object=common.byte_level(common.LLAMA3_SPLIT, specials),
        bos_token="<|begin_of_text|>",
        eos_token="<|eot_id|>",
        chat_template=HEADERS,
    )


def gemma_tokenizer():
    specials = ["<pad>", "<eos>", "<bos>", "<unk>", "<start_of_turn>", "<end_of_turn>"]
    return PreTrainedTokenizerFast(
        tokenizer_object=common.sentencepiece_bpe(specials),
        bos_token="<bos>",
        eos_token="<eos>",
        pad_token="<pad>",
        chat_template=TURNS,
    )


def mistral_tokenizer():
    specials = ["<unk>", "<s>", "</s>", "[INST]", "[/INST]"]
    return PreTrainedTokenizerFast(
        tokenizer_object=common.sentencepiece_bpe(specials),
        bos_token="<s>",
        eos_token="</s>",
        chat_template=INSTRUCT,
    )


SMALL = {
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 512,
}

# Name of the row: model, class of its configuration, fields beside SMALL, tokenizer.
CHATS = {
    "chat-llama-3.2": (
        "Llama 3.2",
        "LlamaConfig",
        {
            "head_dim": 8,
            "rope_scaling": {
                "rope_type": "llama3",
                "factor": 4.0,
                "low_freq_factor": 1.0,
                "high_freq_factor": 4.0,
                "original_max_position_embeddings": 64,
            },
            "tie_word_embeddings": True,
        },
        llama3_tokenizer,
    ),
    "chat-qwen-2.5": ("Qwen2.5", "Qwen2Config", {"tie_word_embeddings": True}, chatml_tokenizer),
    "chat-qwen-3": ("Qwen3", "Qwen3Config", {"head_dim": 16}, chatml_tokenizer),
    "chat-qwen-3-moe": (
        "Qwen3 MoE",
        "Qwen3MoeConfig",
        {
            "head_dim": 8,
            "num_experts": 4,
            "num_experts_per_tok": 2,
            "moe_intermediate_size": 16,
            "norm_topk_prob": True,
        },
        chatml_tokenizer,
    ),
    "chat-gemma-2": (
        "Gemma 2",
        "Gemma2Config",
        {"head_dim": 8, "query_pre_attn_scalar": 8, "sliding_window": 16},
        gemma_tokenizer,
    ),
    "chat-gemma-3": (
        "Gemma 3",
        "Gemma3TextConfig",
        {"head_dim": 8, "query_pre_attn_scalar": 8, "sliding_window": 16},
        gemma_tokenizer,
    ),
    "chat-phi-4-mini": (
        "Phi-4-mini",
        "Phi3Config",
        {
            "partial_rotary_factor": 0.5,
            "rope_scaling": {
                "type": "longrope",
                "short_factor": [1.0, 1.1],
                "long_factor": [1.0, 4.0],
            },
            "original_max_position_embeddings": 256,
            "pad_token_id": 0,
        },
        chatml_tokenizer,
    ),
    "chat-mistral-7b": (
        "Mistral 7B v0.2",
        "MistralConfig",
        {"head_dim": 8, "sliding_window": None},
        mistral_tokenizer,
    ),
    "chat-smollm-3": ("SmolLM3", "SmolLM3Config", {"no_rope_layer_interval": 2}, chatml_tokenizer),
    "chat-olmo-2": ("OLMo 2", "Olmo2Config", {}, chatml_tokenizer),
    "chat-granite-3.3": (
        "Granite 3.3",
        "GraniteConfig",
        {
            "embedding_multiplier": 6.0,
            "residual_multiplier": 0.5,
            "attention_multiplier": 0.2,
            "logits_scaling": 2.0,
        },
        chatml_tokenizer,
    ),
    "chat-gpt-2": (
        "GPT-2",
        "GPT2Config",
        {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 512},
        lambda: chatml_tokenizer(common.GPT2_SPLIT),
    ),
}


def silence_unprintable(model, tokenizer) -> None:
    """Zero logits for what is no ASCII text, so that greedy text is whole characters."""
    rows = model.get_output_embeddings().weight
    specials = set(tokenizer.all_special_ids)
    with torch.no_grad():
        for token in range(rows.shape[0]):
            text = tokenizer.decode([token])
            is_text = text.isascii() and text.isprintable() and text != ""
            if not is_text or token in specials or token in tokenizer.added_tokens_decoder:
                rows[token] = 0


@torch.no_grad()
def greedy(model, tokenizer, messages):
    """Greedy text, the first token's logarithm of probability, tokens of the prompt, least margin."""
    ids = tokenizer.apply_chat_template(
        messages, add_generation_prompt=True, return_tensors="pt", return_dict=False
    )
    prompt = ids.shape[1]
    first, margin = None, math.inf
    for _ in range(TOKENS):
        logits = model(ids, use_cache=False).logits[0, -1].double()
        top = torch.topk(logits, 2).values
        margin = min(margin, float(top[0] - top[1]))
        if first is None:
            first = float(torch.log_softmax(logits, -1).max())
        ids = torch.cat([ids, logits.argmax().reshape(1, 1)], 1)
    text = tokenizer.decode(ids[0, prompt:], skip_special_tokens=True)
    return {"content": text, "firstLogprob": first, "promptTokens": prompt}, margin


def make_chat(out, name):
    title, config_class, fields, make_tokenizer = CHATS[name]
    tokenizer = make_tokenizer()
    if not tokenizer.decode(tokenizer.encode("a b", add_special_tokens=False)) == "a b":
        raise SystemExit(f"{name}: the tokenizer does not give its text back")
    base = {} if config_class == "GPT2Config" else SMALL
    ids = {"bos_token_id": tokenizer.bos_token_id, "eos_token_id": tokenizer.eos_token_id}
    settings = {**base, "vocab_size": len(tokenizer), **ids, **fields}
    if config_class != "Phi3Config":
        settings.setdefault("pad_token_id", tokenizer.pad_token_id)
    config = getattr(transformers, config_class)(**settings)
    for seed in range(100):
        model = transformers.AutoModelForCausalLM.from_config(config).eval()
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
        "model": title,
        "exporter": EXPORTER,
        "modality": "chat",
        "tolerance": 1e-3,
        "cases": [
            {"request": {"messages": messages, **request}, "expected": answer}
            for messages, (answer, _) in zip(CONVERSATIONS, found)
        ],
    }
    folder = common.write_row(out, name, golden)
    model.generation_config.do_sample = False
    export(model, tokenizer, folder, "text-generation-with-past")
    print(f"{name}: seed {seed}, {common.size_of(folder) / 1024:.0f} KiB", flush=True)


ENCODER = {
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "max_position_embeddings": 128,
}
TEXTS = [
    "A quiet boat.",
    "Which train leaves for the mountains?",
    "Rain fell on the roof in 2019, he said.",
]
QUERY = "does a kettle boil faster"


def bert_tokenizer():
    return PreTrainedTokenizerFast(
        tokenizer_object=common.wordpiece(),
        unk_token="[UNK]",
        pad_token="[PAD]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
        model_max_length=64,
    )


def roberta_tokenizer():
    return PreTrainedTokenizerFast(
        tokenizer_object=common.unigram(),
        bos_token="<s>",
        eos_token="</s>",
        pad_token="<pad>",
        unk_token="<unk>",
        cls_token="<s>",
        sep_token="</s>",
        model_max_length=64,
        model_input_names=["input_ids", "attention_mask"],
    )


def modernbert_tokenizer():
    tokenizer = bert_tokenizer()
    tokenizer.model_input_names = ["input_ids", "attention_mask"]
    return tokenizer


def qwen_embedding_tokenizer():
    tokenizer = common.byte_level(common.QWEN_SPLIT, ["<|endoftext|>", "<|im_end|>"])
    end = tokenizer.token_to_id("<|endoftext|>")
    tokenizer.post_processor = processors.Sequence(
        [
            processors.ByteLevel(trim_offsets=False),
            processors.TemplateProcessing(
                single="$A <|endoftext|>", special_tokens=[("<|endoftext|>", end)]
            ),
        ]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        padding_side="left",
        model_max_length=64,
    )


MODULES = ["Transformer", "Pooling", "Normalize"]
# Name of the row: model, class of its configuration, fields, tokenizer, pooling, what states it.
EMBEDDERS = {
    "embed-minilm": ("all-MiniLM-L6-v2", "BertConfig", {}, bert_tokenizer, "mean", "flags"),
    "embed-minilm-st6": ("all-MiniLM-L6-v2, sentence-transformers 6", "BertConfig", {}, bert_tokenizer, "mean", "mode"),
    "embed-bge": ("bge-small-en-v1.5 of the hub", "BertConfig", {}, bert_tokenizer, "cls", "bge-small-en-v1.5"),
    "embed-mpnet": ("all-mpnet-base-v2", "MPNetConfig", {"max_position_embeddings": 130}, roberta_tokenizer, "mean", "flags"),
    "embed-distilbert": ("multi-qa-distilbert-cos-v1", "DistilBertConfig", {"dim": 32, "hidden_dim": 48, "n_layers": 2, "n_heads": 4}, modernbert_tokenizer, "mean", "flags"),
    "embed-convbert": ("ConvBERT", "ConvBertConfig", {"embedding_size": 16}, bert_tokenizer, "mean", "flags"),
    "embed-e5": ("multilingual-e5-small", "XLMRobertaConfig", {"max_position_embeddings": 130}, roberta_tokenizer, "mean", "flags"),
    "embed-bge-m3": ("bge-m3", "XLMRobertaConfig", {"max_position_embeddings": 130}, roberta_tokenizer, "cls", "flags"),
    "embed-gte-modernbert": ("gte-modernbert-base", "ModernBertConfig", {"local_attention": 16}, modernbert_tokenizer, "cls", "flags without Normalize"),
    "embed-qwen-3": ("Qwen3-Embedding", "Qwen3Config", {"head_dim": 8, "num_key_value_heads": 2}, qwen_embedding_tokenizer, "last", "flags"),
    "embed-qwen-3-hub": ("Qwen3-Embedding of the hub", "Qwen3Config", {"head_dim": 8, "num_key_value_heads": 2}, qwen_embedding_tokenizer, "last", "Qwen3-Embedding-0.6B"),
    "embed-qwen-3-with-past": ("Qwen3-Embedding with caches", "Qwen3Config", {"head_dim": 8, "num_key_value_heads": 2}, qwen_embedding_tokenizer, "last", "Qwen3-Embedding-0.6B"),
}  # fmt: skip

# Name of the row: model, class of its configuration, fields, tokenizer.
RERANKERS = {
    "rerank-ms-marco": ("ms-marco-MiniLM-L6-v2", "BertConfig", {}, bert_tokenizer),
    "rerank-bge": ("bge-reranker-v2-m3", "XLMRobertaConfig", {"max_position_embeddings": 130}, roberta_tokenizer),
    "rerank-gte-modernbert": ("gte-reranker-modernbert-base", "ModernBertConfig", {"local_attention": 16}, modernbert_tokenizer),
    "rerank-mxbai": ("mxbai-rerank-base-v1", "DebertaV2Config", {"relative_attention": True, "position_buckets": 16, "pos_att_type": ["c2p", "p2c"], "type_vocab_size": 0}, bert_tokenizer),
}  # fmt: skip

TOXIC = ["toxic", "severe_toxic", "obscene", "threat", "insult", "identity_hate"]
# Name of the row: model, class, fields, tokenizer, labels, activation, categories as sets of labels.
CLASSIFIERS = {
    "moderate-toxic-bert": ("toxic-bert", "BertConfig", {"problem_type": "multi_label_classification"}, bert_tokenizer, TOXIC,
        {"harassment": ["toxic", "severe_toxic", "obscene", "insult"], "violence": ["threat"], "harassment/threatening": ["threat"], "hate": ["identity_hate"]}),
    "moderate-koala": ("KoalaAI/Text-Moderation", "DebertaV2Config", {"relative_attention": True, "position_buckets": 16, "pos_att_type": ["c2p", "p2c"], "type_vocab_size": 0}, bert_tokenizer,
        ["H", "H2", "HR", "OK", "S", "S3", "SH", "V", "V2"],
        {"hate": ["H"], "hate/threatening": ["H2"], "harassment": ["HR"], "sexual": ["S"], "sexual/minors": ["S3"], "self-harm": ["SH"], "violence": ["V"], "violence/graphic": ["V2"]}),
}  # fmt: skip


def config_of(config_class, fields, tokenizer, **more):
    base = {} if config_class == "DistilBertConfig" else ENCODER
    if config_class == "Qwen3Config":
        base = {**SMALL}
    ids = {
        "pad_token_id": tokenizer.pad_token_id,
        "cls_token_id": tokenizer.cls_token_id,
        "sep_token_id": tokenizer.sep_token_id,
        "bos_token_id": tokenizer.bos_token_id,
        "eos_token_id": tokenizer.eos_token_id,
    }
    settings = {**base, "vocab_size": len(tokenizer), **ids, **fields, **more}
    return getattr(transformers, config_class)(**settings)


def export(model, tokenizer, folder, task):
    model.config.architectures = [type(model).__name__]
    onnx_export_from_model(model, folder, task=task, do_validation=False)
    tokenizer.save_pretrained(folder)
    common.settle(folder)


@torch.no_grad()
def embed(model, tokenizer, text, pooling):
    inputs = tokenizer(text, return_tensors="pt")
    hidden = model(**inputs).last_hidden_state[0].double()
    vector = {"mean": hidden.mean(0), "cls": hidden[0], "last": hidden[-1]}[pooling]
    return [round(float(value), 7) for value in vector / vector.norm()], inputs.input_ids.shape[1]


def end_before_vocabulary(path):
    """A causal model's graph as onnx-community has it for embeddings: caches go in, hidden states come out."""
    model = onnx.load(path)
    graph = model.graph
    [last] = [node for node in graph.node if "logits" in node.output]
    states = last.input[0]
    used = {name for node in graph.node if node is not last for name in node.input}
    for weights in [one for one in graph.initializer if one.name == last.input[1]]:
        if weights.name not in used:
            graph.initializer.remove(weights)
    graph.node.remove(last)
    for node in graph.node:
        for store in (node.input, node.output):
            for index, name in enumerate(store):
                store[index] = "last_hidden_state" if name == states else name
    [logits] = [output for output in graph.output if output.name == "logits"]
    logits.name = "last_hidden_state"
    logits.type.tensor_type.shape.dim[2].dim_value = 32
    del graph.value_info[:]
    onnx.save(model, path)


def make_embedder(out, name):
    title, config_class, fields, make_tokenizer, pooling, stated = EMBEDDERS[name]
    tokenizer = make_tokenizer()
    config = config_of(config_class, fields, tokenizer)
    model = transformers.AutoModel.from_config(config).eval()
    common.coarsen(model, 1)
    found = [embed(model, tokenizer, text, pooling) for text in TEXTS]
    expected = {
        "vectors": [vector for vector, _ in found],
        "promptTokens": sum(count for _, count in found),
    }
    golden = {
        "model": title,
        "exporter": EXPORTER,
        "modality": "embeddings",
        "tolerance": 1e-5,
        "cases": [{"request": {"input": TEXTS}, "expected": expected}],
    }
    folder = common.write_row(out, name, golden)
    if stated in ("flags", "mode", "flags without Normalize"):
        kept = MODULES[: 2 if "without" in stated else 3]
        places = ["", "1_Pooling", "2_Normalize"]
        modules = [
            {
                "idx": index,
                "name": str(index),
                "path": places[index],
                "type": f"sentence_transformers.models.{module}",
            }
            for index, module in enumerate(kept)
        ]
        common.write_json(folder / "modules.json", modules)
        (folder / "1_Pooling").mkdir()
        mode = {"mean": "mean_tokens", "cls": "cls_token", "last": "lasttoken"}[pooling]
        flags = {f"pooling_mode_{word}": word == mode for word in ("cls_token", "mean_tokens", "max_tokens", "lasttoken")}  # fmt: skip
        by_flags = {"word_embedding_dimension": 32, **flags, "include_prompt": True}
        by_mode = {"embedding_dimension": 32, "pooling_mode": pooling, "include_prompt": True}
        common.write_json(
            folder / "1_Pooling" / "config.json", by_mode if stated == "mode" else by_flags
        )
    else:
        (folder / "README.md").write_text(f"---\nlicense: mit\n---\n\n# {stated}\n")
    if name.endswith("-with-past"):
        causal = transformers.AutoModelForCausalLM.from_config(config).eval()
        causal.model.load_state_dict(model.state_dict())
        export(causal, tokenizer, folder, "text-generation-with-past")
        end_before_vocabulary(folder / "onnx" / "model.onnx")
    else:
        export(model, tokenizer, folder, "feature-extraction")
    print(f"{name}: {common.size_of(folder) / 1024:.0f} KiB", flush=True)


@torch.no_grad()
def make_reranker(out, name):
    title, config_class, fields, make_tokenizer = RERANKERS[name]
    tokenizer = make_tokenizer()
    config = config_of(config_class, fields, tokenizer, num_labels=1)
    model = transformers.AutoModelForSequenceClassification.from_config(config).eval()
    common.coarsen(model, 2, 0.08)
    pairs = [tokenizer(QUERY, text, return_tensors="pt") for text in TEXTS]
    scores = [float(torch.sigmoid(model(**pair).logits[0, 0].double())) for pair in pairs]
    golden = {
        "model": title,
        "exporter": EXPORTER,
        "modality": "rerank",
        "tolerance": 1e-4,
        "cases": [
            {"request": {"query": QUERY, "documents": TEXTS}, "expected": {"scores": scores}}
        ],
    }
    folder = common.write_row(out, name, golden)
    export(model, tokenizer, folder, "text-classification")
    print(f"{name}: {common.size_of(folder) / 1024:.0f} KiB, {scores}", flush=True)


@torch.no_grad()
def make_classifier(out, name):
    title, config_class, fields, make_tokenizer, labels, categories = CLASSIFIERS[name]
    tokenizer = make_tokenizer()
    names = dict(enumerate(labels))
    config = config_of(
        config_class, fields, tokenizer, id2label=names, label2id={v: k for k, v in names.items()}
    )
    model = transformers.AutoModelForSequenceClassification.from_config(config).eval()
    common.coarsen(model, 3, 0.08)
    many = config.problem_type == "multi_label_classification"
    expected = []
    for text in TEXTS:
        logits = model(**tokenizer(text, return_tensors="pt")).logits[0].double()
        found = torch.sigmoid(logits) if many else torch.softmax(logits, -1)
        expected.append(
            {
                category: max(float(found[labels.index(label)]) for label in members)
                for category, members in categories.items()
            }
        )
    golden = {
        "model": title,
        "exporter": EXPORTER,
        "modality": "moderation",
        "tolerance": 1e-4,
        "cases": [{"request": {"input": TEXTS}, "expected": {"category_scores": expected}}],
    }
    folder = common.write_row(out, name, golden)
    export(model, tokenizer, folder, "text-classification")
    print(f"{name}: {common.size_of(folder) / 1024:.0f} KiB", flush=True)


if __name__ == "__main__":
    given = common.parse_arguments(__doc__)
    makers = ((CHATS, make_chat), (EMBEDDERS, make_embedder), (RERANKERS, make_reranker), (CLASSIFIERS, make_classifier))  # fmt: skip
    for rows, make in makers:
        for row in rows:
            if given.only is None or row.startswith(given.only):
                make(given.out, row)

"""
python models.py FOLDER: files of random weights that all peers of the bench open.

FOLDER/decoder       ONNX Runtime GenAI: the graph that its builder 0.18 writes of a Qwen 2 with -p int4 -e cpu,
                     node for node (125 M parameters), without the gigabytes of PyTorch that it needs for it
FOLDER/decoder.gguf  the same numbers for llama.cpp: a block of Q4_0 is a block of MatMulNBits
FOLDER/encoder       a sentence encoder of the size of MiniLM-L6 (22 M parameters), float32
"""

import json
import sys
from pathlib import Path

import gguf
import numpy as np
from onnx import TensorProto, helper, numpy_helper, save

import bpe

LAYERS, WIDTH, HEADS, KV_HEADS, HEAD, INNER, CONTEXT = 30, 576, 9, 3, 64, 1536, 4096
BLOCK, EPSILON, THETA = 32, 1e-6, 10_000.0
random = np.random.default_rng(1)


def int4(rows, columns, spared=()):
    """Quants [rows, blocks, 32] 0..15 around 8 and scales [rows, blocks] that float16 holds (Q4_0 of ggml)."""
    blocks = (random.standard_normal((rows, columns), np.float32) * 0.02).reshape(rows, -1, BLOCK)
    largest = np.take_along_axis(blocks, np.abs(blocks).argmax(2)[..., None], 2)[..., 0]
    scales = (largest / -8).astype(np.float16).astype(np.float32)
    quants = np.clip(np.floor(blocks / scales[..., None] + 8.5), 0, 15).astype(np.uint8)
    quants[list(spared)] = 8
    return quants, scales


def never_said(tokens):
    """Ids of which no greedy answer holds one: their logits are 0, so answers have the length that was asked."""
    return [i for i, token in enumerate(tokens) if token in bpe.SPECIAL or not token.lstrip("Ġ").isascii()]


def make_weights(tokens):
    sizes = {"attn_q": WIDTH, "attn_k": KV_HEADS * HEAD, "attn_v": KV_HEADS * HEAD, "attn_output": WIDTH}
    weights = {"token_embd": int4(len(tokens), WIDTH, never_said(tokens))}
    for layer in range(LAYERS):
        for name, rows in (sizes | {"ffn_gate": INNER, "ffn_up": INNER}).items():
            weights[f"blk.{layer}.{name}"] = int4(rows, WIDTH)
        weights[f"blk.{layer}.ffn_down"] = int4(WIDTH, INNER)
    return weights


class Graph:
    def __init__(self):
        self.nodes, self.tensors, self.inputs, self.outputs = [], [], [], []

    def add(self, operator, inputs, outputs, domain="", **attributes):
        outputs = [outputs] if isinstance(outputs, str) else outputs
        self.nodes.append(helper.make_node(operator, inputs, outputs, domain=domain, **attributes))
        return outputs[0]

    def contrib(self, operator, inputs, outputs, **attributes):
        return self.add(operator, inputs, outputs, "com.microsoft", **attributes)

    def constant(self, name, values):
        self.tensors.append(numpy_helper.from_array(np.ascontiguousarray(values), name))
        return name

    def save(self, path, opset):
        graph = helper.make_graph(self.nodes, "main", self.inputs, self.outputs, self.tensors)
        opsets = [helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
        data = f"{path.name}.data"
        save(model, path, save_as_external_data=True, location=data, size_threshold=1024)


def write_decoder(folder, tokens, weights):
    graph = Graph()
    value, int64, float32 = helper.make_tensor_value_info, TensorProto.INT64, TensorProto.FLOAT
    graph.inputs += [value("input_ids", int64, ["batch_size", "sequence_length"])]
    graph.inputs += [value("attention_mask", int64, ["batch_size", "total_sequence_length"])]
    graph.outputs += [value("logits", float32, ["batch_size", "sequence_length", len(tokens)])]
    for layer in range(LAYERS):
        for part in ("key", "value"):
            dims = ["batch_size", KV_HEADS, "past_sequence_length", "kv_cache_dim"]
            graph.inputs.append(value(f"past_key_values.{layer}.{part}", float32, dims))
            dims = ["batch_size", KV_HEADS, "total_sequence_length", "kv_cache_dim"]
            graph.outputs.append(value(f"present.{layer}.{part}", float32, dims))

    def packed(names):
        quants, scales = (np.concatenate(parts) for parts in zip(*(weights[name] for name in names)))
        return quants[..., 0::2] | quants[..., 1::2] << 4, scales

    def matmul(name, names, given, output):
        quants, scales = packed(names)
        rows, columns = len(scales), scales.shape[1] * BLOCK
        tensors = [graph.constant(f"{name}.weight_Q4", quants), graph.constant(f"{name}.weight_scales", scales)]
        shape = {"N": rows, "K": columns, "bits": 4, "block_size": BLOCK, "accuracy_level": 4}
        return graph.contrib("MatMulNBits", [given, *tensors], output, **shape)

    one = graph.constant("one", np.array([1], np.int64))
    kept = graph.add("ReduceSum", ["attention_mask", one], "kept", keepdims=0)
    last = graph.add("Cast", [graph.add("Sub", [kept, one], "last64")], "last", to=TensorProto.INT32)
    index = graph.constant("index", np.array(1, np.int64))
    length = graph.add("Gather", [graph.add("Shape", ["attention_mask"], "shape"), index], "length64", axis=0)
    length = graph.add("Cast", [length], "length", to=TensorProto.INT32)
    angles = np.outer(np.arange(CONTEXT), THETA ** (-np.arange(0, HEAD, 2) / HEAD))
    rotary = [graph.constant(f"{f.__name__}_cache", f(angles).astype(np.float32)) for f in (np.cos, np.sin)]
    flat = graph.constant("flat", np.array([len(tokens), WIDTH // 2], np.int64))
    table = graph.add("Reshape", ["lm_head.weight_Q4", flat], "table")
    sum_ = graph.contrib("GatherBlockQuantized", [table, "input_ids", "lm_head.weight_scales"], "embedded",
        bits=4, block_size=BLOCK, gather_axis=0, quantize_axis=1)  # fmt: skip
    norm = lambda name: graph.constant(f"{name}.weight", np.ones(WIDTH, np.float32))
    hidden = graph.add("SimplifiedLayerNormalization", [sum_, norm("norm.0")], "normed.0",
        epsilon=EPSILON, axis=-1, stash_type=1)  # fmt: skip

    def skip_norm(name, sum_, added, sums=True):
        outputs = [f"normed.{name}", *(["", "", f"sum.{name}"] if sums else [])]
        inputs = [sum_, added, norm(f"norm.{name}")]
        graph.contrib("SkipSimplifiedLayerNormalization", inputs, outputs, epsilon=EPSILON)
        return outputs[0], outputs[-1]

    for layer in range(LAYERS):
        at = lambda name: f"{name}.{layer}"
        block = lambda *names: [f"blk.{layer}.{name}" for name in names]
        qkv = matmul(at("qkv"), block("attn_q", "attn_k", "attn_v"), hidden, at("qkv_out"))
        past = [f"past_key_values.{layer}.{part}" for part in ("key", "value")]
        present = [f"present.{layer}.{part}" for part in ("key", "value")]
        attended = graph.contrib("GroupQueryAttention", [qkv, "", "", *past, last, length, *rotary],
            [at("attended"), *present], num_heads=HEADS, kv_num_heads=KV_HEADS, scale=HEAD**-0.5,
            local_window_size=-1, softcap=0.0, do_rotary=1, rotary_interleaved=0)  # fmt: skip
        added = matmul(at("o"), block("attn_output"), attended, at("o_out"))
        hidden, sum_ = skip_norm(f"{layer}.mlp", sum_, added)
        gate = matmul(at("gate"), block("ffn_gate"), hidden, at("gate_out"))
        up = matmul(at("up"), block("ffn_up"), hidden, at("up_out"))
        active = graph.add("Mul", [gate, graph.add("Sigmoid", [gate], at("sigmoid"))], at("active"))
        inner = graph.add("Mul", [active, up], at("inner"))
        added = matmul(at("down"), block("ffn_down"), inner, at("down_out"))
        hidden, sum_ = skip_norm(layer + 1, sum_, added, sums=layer + 1 < LAYERS)
    matmul("lm_head", ["token_embd"], hidden, "logits")
    graph.save(folder / "model.onnx", 22)
    (folder / "genai_config.json").write_text(json.dumps(genai_config(tokens)))


def genai_config(tokens):
    names = {"input_ids": "input_ids", "attention_mask": "attention_mask"}
    past = {f"past_{part}_names": f"past_key_values.%d.{part}" for part in ("key", "value")}
    present = {f"present_{part}_names": f"present.%d.{part}" for part in ("key", "value")}
    decoder = {
        "session_options": {"log_id": "onnxruntime-genai", "provider_options": []},
        "filename": "model.onnx", "head_size": HEAD, "hidden_size": WIDTH, "inputs": names | past,
        "outputs": {"logits": "logits"} | present, "num_attention_heads": HEADS,
        "num_hidden_layers": LAYERS, "num_key_value_heads": KV_HEADS,
    }  # fmt: skip
    end, pad = (tokens.index(token) for token in ("<|im_end|>", "<|endoftext|>"))
    model = {"type": "qwen2", "context_length": CONTEXT, "vocab_size": len(tokens), "eos_token_id": end,
        "pad_token_id": pad, "bos_token_id": pad, "decoder": decoder}  # fmt: skip
    search = {"do_sample": False, "max_length": CONTEXT, "past_present_share_buffer": True}
    return {"model": model, "search": search}


def write_gguf(path, tokens, merges, weights):
    writer = gguf.GGUFWriter(path, "qwen2")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS)
    writer.add_rope_freq_base(THETA)
    writer.add_layer_norm_rms_eps(EPSILON)
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_Q4_0)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen2")
    writer.add_token_list(tokens)
    kinds = [gguf.TokenType.CONTROL if token in bpe.SPECIAL else gguf.TokenType.NORMAL for token in tokens]
    writer.add_token_types(kinds)
    writer.add_token_merges([" ".join(merge) for merge in merges])
    writer.add_eos_token_id(tokens.index("<|im_end|>"))
    writer.add_pad_token_id(tokens.index("<|endoftext|>"))
    writer.add_add_bos_token(False)
    writer.add_chat_template(bpe.CHAT_TEMPLATE)
    for name, (quants, scales) in weights.items():
        halves = quants[..., :16] | quants[..., 16:] << 4
        blocks = np.concatenate([scales.astype(np.float16)[..., None].view(np.uint8), halves], 2)
        rows = blocks.reshape(len(scales), -1)
        writer.add_tensor(f"{name}.weight", rows, raw_dtype=gguf.GGMLQuantizationType.Q4_0)
    norms = [f"blk.{layer}.{name}" for layer in range(LAYERS) for name in ("attn_norm", "ffn_norm")]
    for name in [*norms, "output_norm"]:
        writer.add_tensor(f"{name}.weight", np.ones(WIDTH, np.float32))
    for layer in range(LAYERS):
        for name, size in (("attn_q", WIDTH), ("attn_k", KV_HEADS * HEAD), ("attn_v", KV_HEADS * HEAD)):
            writer.add_tensor(f"blk.{layer}.{name}.bias", np.zeros(size, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def write_encoder(folder, tokens, layers=6, width=384, heads=12, inner=1536, positions=512):
    """BERT without token types: input_ids, attention_mask → last_hidden_state [batch, tokens, 384]."""
    graph, head = Graph(), width // heads
    ids = ["batch", "tokens"]
    for name in ("input_ids", "attention_mask"):
        graph.inputs.append(helper.make_tensor_value_info(name, TensorProto.INT64, ids))
    graph.outputs.append(helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, [*ids, width]))
    normal = lambda *dims: random.standard_normal(dims, np.float32) * 0.05

    def dense(name, given, rows, columns):
        weight = graph.constant(f"{name}.weight", normal(rows, columns))
        bias = graph.constant(f"{name}.bias", normal(columns))
        return graph.add("Add", [graph.add("MatMul", [given, weight], f"{name}.product"), bias], name)

    def norm(name, given):
        scale = graph.constant(f"{name}.weight", np.ones(width, np.float32))
        shift = graph.constant(f"{name}.bias", np.zeros(width, np.float32))
        return graph.add("LayerNormalization", [given, scale, shift], name, axis=-1, epsilon=1e-12)

    words = graph.add("Gather", [graph.constant("words", normal(len(tokens), width)), "input_ids"], "worded")
    shape = graph.add("Shape", ["input_ids"], "shape")
    ints = {n: graph.constant(f"int.{n}", np.array([n], np.int64)) for n in (0, 1, 2)}
    length = graph.add("Slice", [shape, ints[1], ints[2]], "length")
    table = graph.constant("positions", normal(positions, width))
    places = graph.add("Slice", [table, ints[0], length, ints[0]], "places")
    hidden = norm("norm", graph.add("Add", [words, places], "embedded"))
    mask = graph.add("Cast", ["attention_mask"], "mask", to=TensorProto.FLOAT)
    axes = graph.constant("axes", np.array([1, 2], np.int64))
    mask = graph.add("Unsqueeze", [mask, axes], "mask4")
    absent = graph.add("Sub", [graph.constant("all", np.float32(1)), mask], "absent")
    bias = graph.add("Mul", [absent, graph.constant("least", np.float32(-1e9))], "bias")
    split = graph.constant("split", np.array([0, 0, heads, head], np.int64))
    join = graph.constant("join", np.array([0, 0, width], np.int64))
    root = graph.constant("root", np.float32(head**-0.5))
    for layer in range(layers):
        at = lambda name: f"{layer}.{name}"

        def headed(name, order):
            shaped = graph.add("Reshape", [dense(at(name), hidden, width, width), split], at(f"{name}.split"))
            return graph.add("Transpose", [shaped], at(f"{name}.heads"), perm=order)

        query, key, value = headed("q", [0, 2, 1, 3]), headed("k", [0, 2, 3, 1]), headed("v", [0, 2, 1, 3])
        scores = graph.add("Mul", [graph.add("MatMul", [query, key], at("dots")), root], at("scores"))
        shares = graph.add("Softmax", [graph.add("Add", [scores, bias], at("masked"))], at("shares"), axis=-1)
        mixed = graph.add("Transpose", [graph.add("MatMul", [shares, value], at("mixed"))], at("rows"), perm=[0, 2, 1, 3])
        attended = dense(at("o"), graph.add("Reshape", [mixed, join], at("joined")), width, width)
        hidden = norm(at("norm.1"), graph.add("Add", [hidden, attended], at("sum.1")))
        active = graph.add("Gelu", [dense(at("up"), hidden, width, inner)], at("active"))
        hidden = norm(at("norm.2"), graph.add("Add", [hidden, dense(at("down"), active, inner, width)], at("sum.2")))
    graph.add("Identity", [hidden], "last_hidden_state")
    graph.save(folder / "onnx" / "model.onnx", 20)
    config = {"architectures": ["BertModel"], "model_type": "bert", "hidden_size": width,
        "max_position_embeddings": positions, "vocab_size": len(tokens), "pad_token_id": len(tokens) - 3}  # fmt: skip
    (folder / "config.json").write_text(json.dumps(config))


def main(folder):
    (folder / "decoder").mkdir(parents=True, exist_ok=True)
    (folder / "encoder" / "onnx").mkdir(parents=True, exist_ok=True)
    tokens, merges = bpe.write(folder / "decoder")
    bpe.write(folder / "encoder", is_encoder=True)
    weights = make_weights(tokens)
    write_decoder(folder / "decoder", tokens, weights)
    write_gguf(folder / "decoder.gguf", tokens, merges, weights)
    write_encoder(folder / "encoder", tokens)


if __name__ == "__main__":
    main(Path(sys.argv[1]))

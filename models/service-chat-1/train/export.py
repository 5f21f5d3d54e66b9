"""Writes the package: graph, files beside it, model.json, and the held-out cases."""

import io
import pathlib
import warnings

import onnx
import torch
from training_kit.onnx_export import halved, store_half
from training_kit.package import describe_file, write_json

from .byte_weights import store_bytes
from .conversation import END, TEMPLATE
from .held_out import write_cases
from .model import ChatModel
from .parity import check_bytes, check_parity
from .sizes import CONTEXT, Size
from .train_chat import FINISHED, STEADY
from .vocabulary import END_ID, PAD, PAD_ID, as_typed

OPSET, IR_VERSION = 18, 10
ROLES = {
    "decoder": "model.onnx",
    "config": "config.json",
    "generation-config": "generation_config.json",
    "tokenizer": "tokenizer.json",
    "tokenizer-config": "tokenizer_config.json",
}
CONCURRENCY = 32
SOURCE = (
    "made from nothing by the recipe in train/, on conversations that its code writes and on definitions of WordNet"
)


def export_package(folder: pathlib.Path, size: Size, package: pathlib.Path) -> None:
    """From finished.pt, or from the averaged weights of a training that goes on."""
    model = ChatModel(size)
    weights, training = latest_weights(folder)
    print(f"weights of {training['done']} steps and {training['fallen']} of the fall, {training['tokens']} tokens")
    model.load_state_dict(weights)
    halved(model.eval())
    graph, path = traced(model, package.name), package / "model.onnx"
    write_graph(graph, path)
    print(f"largest difference of the graph to torch {check_parity(model, path):.1e}")
    store_bytes(graph)
    write_graph(graph, path)
    print(f"loss of other conversations, torch and graph of bytes: {check_bytes(model, folder, path)}")
    write_configs(package, folder / "tokenizer.json", size, training)
    write_manifest(package)
    write_cases(package / "evaluation", folder / "tokenizer.json")


def latest_weights(folder: pathlib.Path) -> tuple[dict, dict[str, int]]:
    """The weights after the fall of the rate, before it their running average; and how long they were trained."""
    finished = (folder / FINISHED).exists()
    state = torch.load(folder / (FINISHED if finished else STEADY))
    return state["model" if finished else "average"], {key: state[key] for key in ("begun", "done", "fallen", "tokens")}


def traced(model: ChatModel, producer: str) -> onnx.ModelProto:
    """As optimum names and shapes a decoder with past, in float32."""
    layers, heads, head = model.size.layers, model.size.key_heads, model.head
    caches = [f"{at}.{part}" for at in range(layers) for part in ("key", "value")]
    inputs = ["input_ids", "attention_mask", "position_ids", *(f"past_key_values.{name}" for name in caches)]
    outputs = ["logits", *(f"present.{name}" for name in caches)]
    axes = {name: {0: "batch_size", 1: "sequence_length"} for name in ("input_ids", "position_ids", "logits")}
    axes["attention_mask"] = {0: "batch_size", 1: "total_sequence_length"}
    axes |= {name: {0: "batch_size", 2: "past_sequence_length"} for name in inputs[3:]}
    axes |= {name: {0: "batch_size", 2: "total_sequence_length"} for name in outputs[1:]}
    ids, past = torch.tensor([[2, 40, 41], [2, 50, 3]]), torch.zeros(2, heads, 4, head)
    arguments = (ids, torch.ones(2, 7, dtype=torch.int64), torch.arange(4, 7).expand(2, 3), *[past] * len(caches))
    buffer = io.BytesIO()
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            model,
            arguments,
            buffer,
            input_names=inputs,
            output_names=outputs,
            dynamic_axes=axes,
            opset_version=OPSET,
            do_constant_folding=False,
            dynamo=False,
        )
    graph = onnx.load_from_string(buffer.getvalue())
    name_dimensions(graph, axes, model.size.vocabulary)
    graph.ir_version = IR_VERSION
    graph.producer_name, graph.producer_version = producer, ""
    return graph


def write_graph(graph: onnx.ModelProto, path: pathlib.Path) -> None:
    """What is still float32 becomes float16 and a Cast, which loading folds away."""
    written = onnx.ModelProto()
    written.CopyFrom(graph)
    store_half(written)
    onnx.checker.check_model(written)
    path.write_bytes(written.SerializeToString())


def name_dimensions(graph: onnx.ModelProto, axes: dict[str, dict[int, str]], vocabulary: int) -> None:
    """Dimensions of the outputs, which tracing leaves nameless or wrongly named."""
    for value in graph.graph.output:
        dimensions = value.type.tensor_type.shape.dim
        for at, name in axes[value.name].items():
            dimensions[at].dim_param = name
        if value.name == "logits":
            dimensions[2].dim_value = vocabulary
        else:
            past = next(
                one for one in graph.graph.input if one.name == value.name.replace("present", "past_key_values")
            )
            for at in (1, 3):
                dimensions[at].dim_value = past.type.tensor_type.shape.dim[at].dim_value


def write_configs(package: pathlib.Path, tokenizer: pathlib.Path, size: Size, training: dict[str, int]) -> None:
    """What transformers and the server read beside the graph."""
    (package / "tokenizer.json").write_text(as_typed(tokenizer))
    ends = {"eos_token_id": END_ID, "pad_token_id": PAD_ID}
    config = {
        "architectures": ["FramemillForCausalLM"],
        "model_type": "framemill-decoder",
        "vocab_size": size.vocabulary,
        "hidden_size": size.width,
        "intermediate_size": size.inner,
        "num_hidden_layers": size.layers,
        "num_attention_heads": size.heads,
        "num_key_value_heads": size.key_heads,
        "head_dim": size.width // size.heads,
        "max_position_embeddings": CONTEXT,
        "tie_word_embeddings": True,
        "training": training,
        **ends,
    }
    write_json(package / "config.json", config)
    write_json(package / "generation_config.json", ends)
    tokens = {"eos_token": END, "pad_token": PAD, "model_max_length": CONTEXT, "clean_up_tokenization_spaces": False}
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", **tokens, "chat_template": TEMPLATE}
    write_json(package / "tokenizer_config.json", settings)


def write_manifest(package: pathlib.Path) -> None:
    """model.json."""
    manifest = {
        "id": package.name,
        "modality": "chat",
        "pipeline": "decoder-text",
        "files": {role: describe_file(package / path) for role, path in ROLES.items()},
        "execution": {"providers": ["cpu"], "precision": {"cpu": "fp32"}, "concurrency": CONCURRENCY},
        "shapes": {},
        "limits": {"contextTokens": CONTEXT},
        "memory": {},
        "licence": "Apache-2.0",
        "source": SOURCE,
        "card": "README.md",
    }
    write_json(package / "model.json", manifest)

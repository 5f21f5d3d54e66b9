"""Weights of the graph's products in 8 bits, in the form that ONNX Runtime multiplies as bytes."""

import pathlib

import numpy as np
import onnx
from onnx import helper, numpy_helper

BLOCK = 64
"""Numbers of a row that share a scale, or the whole row where it is shorter."""
BYTE_PRODUCTS = 4
"""`accuracy_level` of MatMulNBits: what comes in is rounded to bytes, too. 0 (all in float32) is 15 times slower."""
DOMAIN = "com.microsoft"


def store_bytes(model: onnx.ModelProto) -> None:
    """Replaces products with a transposed matrix of the model by MatMulNBits."""
    graph = model.graph
    weights = {one.name: numpy_helper.to_array(one) for one in graph.initializer}
    turned = {
        node.output[0]: node.input[0] for node in graph.node if node.op_type == "Transpose" and node.input[0] in weights
    }
    packed: dict[str, list[onnx.TensorProto]] = {}
    nodes = []
    for node in graph.node:
        if node.op_type != "MatMul" or node.input[1] not in turned:
            nodes.append(node)
            continue
        name = turned[node.input[1]]
        packed.setdefault(name, pack(name, weights[name]))
        rows, columns = weights[name].shape
        names = [tensor.name for tensor in packed[name]]
        settings = {
            "K": columns,
            "N": rows,
            "bits": 8,
            "block_size": min(BLOCK, columns),
            "accuracy_level": BYTE_PRODUCTS,
        }
        nodes.append(
            helper.make_node("MatMulNBits", [node.input[0], *names], node.output, node.name, domain=DOMAIN, **settings)
        )
    nodes = without_unused(nodes, {value.name for value in graph.output})
    read = {name for node in nodes for name in node.input}
    tensors = [tensor for tensor in [*graph.initializer, *sum(packed.values(), [])] if tensor.name in read]
    replace(graph.node, nodes)
    replace(graph.initializer, tensors)
    model.opset_import.append(helper.make_opsetid(DOMAIN, 1))


def pack(name: str, weights: np.ndarray) -> list[onnx.TensorProto]:
    """weights [rows, columns] as bytes around 128 [rows, blocks, BLOCK] and a scale of every block."""
    blocks = weights.reshape(len(weights), -1, min(BLOCK, weights.shape[1]))
    scales = np.maximum(np.abs(blocks).max(-1, keepdims=True), 1e-9) / 127
    numbers = (np.round(blocks / scales) + 128).astype(np.uint8)
    return [
        numpy_helper.from_array(numbers, f"{name}_bytes"),
        numpy_helper.from_array(scales.astype(np.float32).reshape(-1), f"{name}_scale"),
    ]


def unpack(numbers: np.ndarray, scales: np.ndarray) -> np.ndarray:
    """Weights [rows, columns] of what `pack` wrote."""
    blocks = (numbers.astype(np.float32) - 128) * scales.reshape(*numbers.shape[:2], 1)
    return blocks.reshape(len(numbers), -1)


def read_weights(path: pathlib.Path) -> dict[str, np.ndarray]:
    """The float32 weights of a written graph by the names of the model: as its bytes say, not as training had them."""
    stored = {one.name: numpy_helper.to_array(one) for one in onnx.load(path).graph.initializer}
    packed = {name.removesuffix("_bytes") for name in stored if name.endswith("_bytes")}
    weights = {name: unpack(stored[f"{name}_bytes"], stored[f"{name}_scale"]) for name in packed}
    halves = {
        name.removesuffix("_half"): one.astype(np.float32) for name, one in stored.items() if name.endswith("_half")
    }
    whole = {name: one for name, one in stored.items() if not name.endswith(("_bytes", "_scale", "_half"))}
    return weights | halves | whole


def without_unused(nodes: list[onnx.NodeProto], wanted: set[str]) -> list[onnx.NodeProto]:
    """Without transposed matrices that nothing reads any more."""
    read = wanted | {name for node in nodes for name in node.input}
    return [node for node in nodes if node.op_type != "Transpose" or node.output[0] in read]


def replace(field, values: list) -> None:
    """What a repeated field of a protobuf message holds."""
    kept = list(values)
    del field[:]
    field.extend(kept)

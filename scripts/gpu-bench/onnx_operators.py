"""Writes a model down as nodes, and those as an ONNX file with its weights beside it."""

import pathlib
from collections.abc import Callable
from typing import Any

import numpy as np

from weights import encode

OPSET, IR_VERSION = 18, 10
CONTRIB = "com.microsoft"
EPSILON = 1e-6
ELEMENT_TYPES = {"float32": 1, "uint8": 2, "float16": 10, "bfloat16": 16}


class OnnxOperators:
    """Nodes in order of use. Attention, rotation and GELU are ONNX Runtime's own operators."""

    def __init__(self, element: str) -> None:
        self.element = element
        self.nodes: list[tuple[str, str, list[str], list[str], dict[str, Any]]] = []
        self.weights: dict[str, tuple[tuple[int, ...], float]] = {}
        self.tables: dict[str, np.ndarray] = {}
        self.shapes: dict[str, np.ndarray] = {}

    def node(self, operator: str, *inputs: str, domain: str = "", outputs: int = 1, **attributes: Any) -> Any:
        names = [f"v{len(self.nodes)}.{index}" for index in range(outputs)]
        self.nodes.append((operator, domain, list(inputs), names, attributes))
        return names[0] if outputs == 1 else names

    def integers(self, values: tuple[int, ...]) -> str:
        name = "i" + "_".join(map(str, values))
        self.shapes[name] = np.array(values, np.int64)
        return name

    def cast(self, x: str, element: str) -> str:
        return self.node("Cast", x, to=ELEMENT_TYPES[element])

    def weight(self, name: str, shape: tuple[int, ...], spread: float) -> str:
        self.weights[name] = (shape, spread)
        return name

    def table(self, name: str, make: Callable[[], np.ndarray]) -> str:
        if name not in self.tables:
            self.tables[name] = np.asarray(make(), np.float32)
        return name

    def add(self, a: str, b: str) -> str:
        return self.node("Add", a, b)

    def mul(self, a: str, b: str) -> str:
        return self.node("Mul", a, b)

    def one_plus(self, x: str) -> str:
        return self.node("Add", x, self.table("one", lambda: np.ones(1)))

    def linear(self, x: str, weight: str, bias: str) -> str:
        return self.node("Add", self.node("MatMul", x, weight), bias)

    def silu(self, x: str) -> str:
        return self.node("Mul", x, self.node("Sigmoid", x))

    def gelu(self, x: str) -> str:
        return self.node("FastGelu", x, domain=CONTRIB)

    def layer_norm(self, x: str, scale: str, bias: str) -> str:
        return self.node("LayerNormalization", x, scale, bias, axis=-1, epsilon=EPSILON)

    def rms_norm(self, x: str, scale: str) -> str:
        return self.node("SimplifiedLayerNormalization", x, scale, axis=-1, epsilon=EPSILON)

    def channel_norm(self, x: str, scale: str) -> str:
        mean = self.node("ReduceMean", self.node("Mul", x, x), self.integers((1,)), keepdims=1)
        root = self.node("Sqrt", self.node("Add", mean, self.table("epsilon", lambda: np.full(1, EPSILON))))
        return self.node("Mul", self.node("Div", x, root), scale)

    def rotate(self, x: str, cos: str, sin: str, heads: int) -> str:
        positions = self.integers((0,))
        return self.node("RotaryEmbedding", x, positions, cos, sin, domain=CONTRIB, interleaved=1, num_heads=heads)

    def attention(self, q: str, k: str, v: str, heads: int) -> str:
        return self.node("MultiHeadAttention", q, k, v, domain=CONTRIB, num_heads=heads)

    def conv(self, x: str, weight: str, bias: str, pads: tuple[int, ...]) -> str:
        return self.node("Conv", x, weight, bias, pads=[*pads, *pads])

    def pad_before(self, x: str, frames: int) -> str:
        pads = self.integers((0, 0, frames, 0, 0, 0, 0, 0, 0, 0))
        return self.node("Pad", x, pads, mode="constant")

    def double(self, x: str) -> str:
        self.shapes["twice"] = np.array([1, 1, 2, 2], np.float32)
        kind = {"mode": "nearest", "nearest_mode": "floor", "coordinate_transformation_mode": "asymmetric"}
        return self.node("Resize", x, "", "twice", **kind)

    def reshape(self, x: str, shape: tuple[int, ...]) -> str:
        return self.node("Reshape", x, self.integers(shape))

    def transpose(self, x: str, axes: tuple[int, ...]) -> str:
        return self.node("Transpose", x, perm=list(axes))

    def split(self, x: str, parts: int, axis: int) -> list[str]:
        return self.node("Split", x, outputs=parts, axis=axis, num_outputs=parts)

    def to_bytes(self, x: str) -> str:
        half = self.table("half", lambda: np.full(1, 127.5))
        scaled = self.node("Add", self.node("Mul", x, half), half)
        limits = self.table("zero", lambda: np.zeros(())), self.table("most", lambda: np.full((), 255.0))
        return self.cast(self.node("Round", self.node("Clip", scaled, *limits)), "uint8")


def write_graph(
    o: OnnxOperators,
    inputs: dict[str, tuple[int, ...]],
    output: tuple[str, str, str],
    places: tuple[pathlib.Path, dict[str, tuple[int, int]], str],
) -> None:
    """Inputs are float32. `output` is (name, value, element type); `places` the file, and where its weights lie."""
    from onnx import TensorProto, helper, numpy_helper, save_model

    name, value, kind = output
    path, offsets, weights_file = places
    nodes = [
        helper.make_node(operator, ins, outs, domain=domain, **attributes)
        for operator, domain, ins, outs, attributes in o.nodes
    ]
    nodes.append(helper.make_node("Identity", [value], [name]))
    element = ELEMENT_TYPES[o.element]
    outside = []
    for weight, (shape, _) in o.weights.items():
        tensor = TensorProto(name=weight, data_type=element, dims=shape, data_location=TensorProto.EXTERNAL)
        offset, length = offsets[weight]
        for key, text in {"location": weights_file, "offset": offset, "length": length}.items():
            tensor.external_data.add(key=key, value=str(text))
        outside.append(tensor)
    inside = [
        helper.make_tensor(table, element, values.shape, encode(values, o.element), raw=True)
        for table, values in o.tables.items()
    ]
    inside += [numpy_helper.from_array(values, shape) for shape, values in o.shapes.items()]
    graph = helper.make_graph(
        nodes,
        path.stem,
        [helper.make_tensor_value_info(input_, 1, shape) for input_, shape in inputs.items()],
        [helper.make_tensor_value_info(name, ELEMENT_TYPES[kind], None)],
        initializer=[*outside, *inside],
    )
    opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(CONTRIB, 1)]
    save_model(helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION), path)

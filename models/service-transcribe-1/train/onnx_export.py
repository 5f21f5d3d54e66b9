"""Exports the acoustic model to ONNX, its matrices as 8-bit numbers with a scale for each row."""

import copy
import io
import pathlib
import warnings

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper

from .acoustic_model import CONTEXT_FRAMES
from .mel import BINS

OPSET, IR_VERSION = 18, 10
SMALLEST = 4096
"""Matrices of fewer numbers stay float32."""
PRECISE = CONTEXT_FRAMES * BINS
"""So do those with a side of this length, the closed-form front: its terms cancel each other."""


def rounded(model: torch.nn.Module) -> torch.nn.Module:
    """A copy with its matrices on the grid of the 8-bit numbers that the export stores."""
    model = copy.deepcopy(model)
    for weights in model.parameters():
        if weights.ndim == 2 and weights.numel() >= SMALLEST:
            scale = weights.data.abs().amax(1, keepdim=True).clamp(min=1e-8) / 127
            weights.data = (weights.data / scale).round() * scale
    return model


def export_acoustic(model: torch.nn.Module, path: pathlib.Path, name: str) -> None:
    """Writes a graph of `features` [1, 80, frames] with the outputs `spelling` and `states`."""
    buffer = io.BytesIO()
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            model.eval(),
            (torch.randn(1, BINS, 300),),
            buffer,
            input_names=["features"],
            output_names=["spelling", "states"],
            dynamic_axes={"features": {2: "frames"}, "spelling": {1: "steps"}, "states": {1: "steps"}},
            opset_version=OPSET,
            dynamo=False,
        )
    graph = onnx.load_from_string(buffer.getvalue())
    store_bytes(graph)
    graph.ir_version = IR_VERSION
    graph.producer_name, graph.producer_version = name, ""
    onnx.checker.check_model(graph)
    path.write_bytes(graph.SerializeToString())


def store_bytes(model: onnx.ModelProto) -> None:
    """Replaces matrices by int8 ones, a Cast and a Mul by their scales, which loading folds away."""
    nodes = []
    for initialiser in list(model.graph.initializer):
        name = initialiser.name
        small = len(initialiser.dims) != 2 or np.prod(initialiser.dims) < SMALLEST
        if initialiser.data_type != TensorProto.FLOAT or small or PRECISE in initialiser.dims:
            continue
        numbers, scale = _on_grid(numpy_helper.to_array(initialiser))
        initialiser.CopyFrom(numpy_helper.from_array(numbers, name + "_bytes"))
        model.graph.initializer.append(numpy_helper.from_array(scale, name + "_scale"))
        nodes.append(helper.make_node("Cast", [name + "_bytes"], [name + "_float"], to=TensorProto.FLOAT))
        nodes.append(helper.make_node("Mul", [name + "_float", name + "_scale"], [name]))
    nodes += model.graph.node
    del model.graph.node[:]
    model.graph.node.extend(nodes)


def _on_grid(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The numbers and the scales of rounded weights; the exporter may have transposed them."""
    for axis in (0, 1):
        scale = np.maximum(np.abs(values).max(axis, keepdims=True), 1e-8) / 127
        numbers = np.round(values / scale)
        if np.abs(values / scale - numbers).max() < 1e-2:
            return numbers.astype(np.int8), scale.astype(np.float32)
    raise SystemExit("a matrix was not rounded")

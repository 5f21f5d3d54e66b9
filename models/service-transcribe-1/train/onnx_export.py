"""Exports the acoustic model to ONNX, its weights as float16."""

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
SMALLEST_HALF = 256
"""Tensors of fewer numbers stay float32."""
PRECISE = CONTEXT_FRAMES * BINS
"""So do those with a side of this length, the closed-form front: its terms cancel each other."""


def halved(model: torch.nn.Module) -> torch.nn.Module:
    """A copy with its large weights rounded to float16, as the export stores them."""
    model = copy.deepcopy(model)
    for weights in model.parameters():
        if weights.numel() >= SMALLEST_HALF:
            weights.data = weights.data.half().float()
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
    store_half(graph)
    graph.ir_version = IR_VERSION
    graph.producer_name, graph.producer_version = name, ""
    onnx.checker.check_model(graph)
    path.write_bytes(graph.SerializeToString())


def store_half(model: onnx.ModelProto) -> None:
    """Replaces large float initialisers by float16 ones and a Cast, which loading folds away."""
    casts = []
    for initialiser in model.graph.initializer:
        name = initialiser.name
        small = np.prod(initialiser.dims) < SMALLEST_HALF
        if initialiser.data_type != TensorProto.FLOAT or small or PRECISE in initialiser.dims:
            continue
        values = numpy_helper.to_array(initialiser).astype(np.float16)
        initialiser.CopyFrom(numpy_helper.from_array(values, name + "_half"))
        casts.append(helper.make_node("Cast", [name + "_half"], [name], to=TensorProto.FLOAT))
    nodes = [*casts, *model.graph.node]
    del model.graph.node[:]
    model.graph.node.extend(nodes)

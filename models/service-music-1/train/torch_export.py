"""Exports torch modules to ONNX, large weights kept as float16."""

import io
import pathlib
import warnings

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper

OPSET, IR_VERSION = 17, 9
SMALLEST_HALF = 256
EXACT = ("ratios", "starts", "tuning", "filters", "place", "triangle", "sides", "down", "up")
"""Tables that stay float32: frequencies and filters."""


def halved(module: torch.nn.Module) -> torch.nn.Module:
    """The module with its large weights rounded as the export stores them."""
    for parameter in module.parameters():
        if parameter.numel() >= SMALLEST_HALF:
            parameter.data = parameter.data.half().float()
    return module.eval()


def export_module(
    module: torch.nn.Module,
    arguments: tuple[torch.Tensor, ...],
    inputs: dict[str, list],
    outputs: dict[str, list],
    path: pathlib.Path,
    fold: bool = True,
) -> None:
    """inputs, outputs: name -> sizes, with names for free ones; unfolded, what is computed from small tables stays so."""
    shapes = {**inputs, **outputs}
    axes = {name: {at: size for at, size in enumerate(sizes) if isinstance(size, str)} for name, sizes in shapes.items()}
    buffer = io.BytesIO()
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            module.eval(), arguments, buffer, input_names=list(inputs), output_names=list(outputs),
            dynamic_axes={name: free for name, free in axes.items() if free}, opset_version=OPSET, dynamo=False,
            do_constant_folding=fold,
        )  # fmt: skip
    model = onnx.load_from_string(buffer.getvalue())
    store_half(model)
    for value in [*model.graph.input, *model.graph.output]:
        name_dimensions(value, shapes[value.name])
    model.ir_version = IR_VERSION
    model.producer_name, model.producer_version = "service-music-1", ""
    onnx.checker.check_model(model)
    path.write_bytes(model.SerializeToString())


def name_dimensions(value: onnx.ValueInfoProto, sizes: list) -> None:
    """Writes the declared shape of a graph input or output."""
    for dimension, size in zip(value.type.tensor_type.shape.dim, sizes, strict=True):
        if isinstance(size, str):
            dimension.dim_param = size
        else:
            dimension.dim_value = size


def store_half(model: onnx.ModelProto) -> None:
    """Replaces large float initialisers by float16 ones followed by a Cast, which loading folds."""
    casts = []
    for initialiser in model.graph.initializer:
        small = np.prod(initialiser.dims) < SMALLEST_HALF
        if initialiser.data_type != TensorProto.FLOAT or small or initialiser.name.split(".")[-1] in EXACT:
            continue
        values = numpy_helper.to_array(initialiser)
        if np.abs(values - values.astype(np.float16)).max() > 0:
            continue
        name = initialiser.name
        initialiser.CopyFrom(numpy_helper.from_array(values.astype(np.float16), name + "_half"))
        casts.append(helper.make_node("Cast", [name + "_half"], [name], to=TensorProto.FLOAT))
    nodes = [*casts, *model.graph.node]
    del model.graph.node[:]
    model.graph.node.extend(nodes)

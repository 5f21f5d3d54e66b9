"""Exports torch modules to ONNX, with weights kept as float16."""

import io
import warnings

import numpy as np
import onnx
import torch
from onnx import helper, numpy_helper

from .onnx_graph import FLOAT, IR_VERSION, OPSET

SMALLEST_HALF = 256
"""Tensors of fewer numbers stay float32."""


def export_module(module, arguments, inputs, *outputs, fold=True):
    """inputs: name -> axis names; outputs: (name, axis names) -> ModelProto with float16 weights.

    fold: whether constants are computed now; without it, integer weights stay small.
    """
    axes = {name: dict(enumerate_names(names)) for name, names in [*inputs.items(), *outputs]}
    buffer = io.BytesIO()
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            module.eval(),
            arguments,
            buffer,
            input_names=list(inputs),
            output_names=[name for name, _ in outputs],
            dynamic_axes=axes,
            opset_version=OPSET,
            do_constant_folding=fold,
            dynamo=False,
        )
    model = onnx.load_from_string(buffer.getvalue())
    store_half(model)
    store_bytes(model)
    declared = [*inputs.values(), *[names for _, names in outputs]]
    for value, names in zip([*model.graph.input, *model.graph.output], declared):
        name_dimensions(value, names)
    model.ir_version = IR_VERSION
    model.producer_name, model.producer_version = "service-motion-1", ""
    onnx.checker.check_model(model)
    return model


def enumerate_names(names):
    """Axis number and name of the dynamic axes."""
    return [(axis, name) for axis, name in enumerate(names) if isinstance(name, str)]


def name_dimensions(value, names):
    """Writes the declared shape into a graph input or output."""
    dimensions = value.type.tensor_type.shape.dim
    for dimension, name in zip(dimensions, names):
        if isinstance(name, str):
            dimension.dim_param = name
        else:
            dimension.dim_value = name


def store_half(model):
    """Replaces large float initialisers by float16 ones followed by a Cast, which loads fold."""
    casts = []
    for initialiser in model.graph.initializer:
        if initialiser.data_type != FLOAT or np.prod(initialiser.dims) < SMALLEST_HALF:
            continue
        name = initialiser.name
        values = numpy_helper.to_array(initialiser).astype(np.float16)
        initialiser.CopyFrom(numpy_helper.from_array(values, name + "_half"))
        casts.append(helper.make_node("Cast", [name + "_half"], [name], to=FLOAT))
    nodes = [*casts, *model.graph.node]
    del model.graph.node[:]
    model.graph.node.extend(nodes)


def store_bytes(model):
    """Replaces large constants that are whole 127ths by int8 ones, a Cast and a product."""
    nodes = []
    for node in model.graph.node:
        values = numpy_helper.to_array(node.attribute[0].t) if node.op_type == "Constant" else np.zeros(0)
        codes = np.round(values * STEPS)
        whole = values.size >= SMALLEST_HALF and values.dtype == np.float32 and np.abs(codes).max() <= STEPS
        if not whole or np.abs(values * STEPS - codes).max() > 1e-4:
            nodes.append(node)
            continue
        name = node.output[0]
        model.graph.initializer.append(numpy_helper.from_array(codes.astype(np.int8), name + "_codes"))
        model.graph.initializer.append(numpy_helper.from_array(np.float32(1 / STEPS), name + "_step"))
        nodes.append(helper.make_node("Cast", [name + "_codes"], [name + "_float"], to=FLOAT))
        nodes.append(helper.make_node("Mul", [name + "_float", name + "_step"], [name]))
    del model.graph.node[:]
    model.graph.node.extend(nodes)


STEPS = 127.0
"""Codes of 1 in patterns that are kept as bytes."""

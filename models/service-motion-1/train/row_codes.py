"""Graphs of the package: torch modules with weights in 8 or 16 bits."""

import numpy as np
import onnx
import torch
from onnx import helper, numpy_helper

from .onnx_graph import FLOAT
from .torch_export import SMALLEST_HALF, export_module

SMALLEST_BYTES = 4096
"""Weights of fewer numbers stay as the exporter left them."""


def round_rows(part: torch.nn.Module) -> torch.nn.Module:
    """Rounds every large matrix to 255 steps of its rows' own size and the rest to float16, as the graph
    keeps them."""
    with torch.no_grad():
        for weight in part.parameters():
            if is_coded(weight):
                codes, scale = row_codes(weight)
                weight.copy_(codes * scale)
    return round_to_half(part, but=is_coded)


def round_to_half(part: torch.nn.Module, but=lambda tensor: False) -> torch.nn.Module:
    """Rounds what the exporter keeps as float16."""
    for tensor in [*part.parameters(), *part.buffers()]:
        if tensor.is_floating_point() and tensor.numel() >= SMALLEST_HALF and not but(tensor):
            tensor.data.copy_(tensor.half().to(tensor.dtype))
    return part


def is_coded(tensor) -> bool:
    """Whether it is a large matrix of a network's."""
    return isinstance(tensor, torch.nn.Parameter) and tensor.dim() == 2 and tensor.numel() >= SMALLEST_BYTES


def row_codes(weight: torch.Tensor):
    """-> codes in -127..127 and scale [rows, 1]."""
    scale = (weight.abs().amax(1, keepdim=True) / 127).clamp(min=1e-8)
    return (weight / scale).round().clamp(-127, 127), scale


def export_rounded(part, arguments, inputs, *outputs) -> onnx.ModelProto:
    """A module whose large matrices are stored as int8 codes with a scale for each row."""
    weights = {name: weight.detach() for name, weight in part.named_parameters() if is_coded(weight)}
    model = export_module(part, arguments, inputs, *outputs, fold=False)
    store_rows(model, weights)
    onnx.checker.check_model(model)
    return model


def store_rows(model, weights):
    """Replaces the float16 copies of the weights by codes and scales, which loads fold."""
    kept, nodes, found = [], [], set()
    for initialiser in model.graph.initializer:
        name = initialiser.name.removesuffix("_half")
        if name not in weights:
            kept.append(initialiser)
            continue
        found.add(name)
        codes, scale = row_codes(weights[name])
        kept.append(numpy_helper.from_array(codes.numpy().astype(np.int8), name + "_codes"))
        kept.append(numpy_helper.from_array(scale.numpy(), name + "_scale"))
        nodes.append(helper.make_node("Cast", [name + "_codes"], [name + "_float"], to=FLOAT))
        nodes.append(helper.make_node("Mul", [name + "_float", name + "_scale"], [name]))
    if missing := set(weights) - found:
        raise ValueError(f"not found in the graph: {sorted(missing)}")
    nodes += [node for node in model.graph.node if not set(node.output) & found]
    for field, items in ((model.graph.initializer, kept), (model.graph.node, nodes)):
        del field[:]
        field.extend(items)

"""Exports encoders to ONNX: the table of token vectors as int8 with a scale a row, other weights as float16."""

import io
import pathlib
import warnings

import numpy as np
import onnx
import onnxruntime
import torch
from onnx import TensorProto, helper, numpy_helper
from torch import nn

OPSET, IR_VERSION = 18, 10
SMALLEST_HALF = 256
"""Tensors of fewer numbers stay float32."""
TOLERANCE = 1e-3


class ByteTable(nn.Module):
    """A table of vectors, each row as bytes times the row's own scale."""

    def __init__(self, table: nn.Embedding) -> None:
        super().__init__()
        vectors = table.weight.detach()
        scale = vectors.abs().amax(1, keepdim=True).clamp_min(1e-9) / 127
        self.register_buffer("bytes", (vectors / scale).round().to(torch.int8))
        self.register_buffer("scale", scale)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        """ids [B, L] -> vectors [B, L, W]."""
        return self.bytes[ids].float() * self.scale[ids]


def halved(model: nn.Module) -> nn.Module:
    """The same module with its large weights rounded to float16, as the export stores them."""
    for weights in model.parameters():
        if weights.numel() >= SMALLEST_HALF:
            weights.data = weights.data.half().float()
    return model


def export_graph(
    model: nn.Module, inputs: list[str], output: tuple[str, int], path: pathlib.Path, producer: str
) -> None:
    """Writes a graph of int64 inputs [rows, length] and one output (name, width) [rows, width]."""
    example = torch.tensor([[2, 40, 41, 3, 42, 3], [2, 50, 3, 51, 3, 0]])
    feeds = {"input_ids": example, "attention_mask": (example > 0).long(), "token_type_ids": example * 0}
    axes = {name: {0: "rows", 1: "length"} for name in inputs} | {output[0]: {0: "rows"}}
    buffer = io.BytesIO()
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            model.eval(),
            tuple(feeds[name] for name in inputs),
            buffer,
            input_names=inputs,
            output_names=[output[0]],
            dynamic_axes=axes,
            opset_version=OPSET,
            dynamo=False,
        )
    graph = onnx.load_from_string(buffer.getvalue())
    store_half(graph)
    width = graph.graph.output[0].type.tensor_type.shape.dim[1]
    width.dim_value = output[1]
    graph.ir_version = IR_VERSION
    graph.producer_name, graph.producer_version = producer, ""
    onnx.checker.check_model(graph)
    path.write_bytes(graph.SerializeToString())


def store_half(model: onnx.ModelProto) -> None:
    """Replaces large float initialisers by float16 ones and a Cast, which loading folds away."""
    casts = []
    for initialiser in model.graph.initializer:
        if initialiser.data_type != TensorProto.FLOAT or np.prod(initialiser.dims) < SMALLEST_HALF:
            continue
        name = initialiser.name
        if name.endswith("scale"):
            continue
        values = numpy_helper.to_array(initialiser).astype(np.float16)
        initialiser.CopyFrom(numpy_helper.from_array(values, name + "_half"))
        casts.append(helper.make_node("Cast", [name + "_half"], [name], to=TensorProto.FLOAT))
    nodes = [*casts, *model.graph.node]
    del model.graph.node[:]
    model.graph.node.extend(nodes)


def check_parity(model: nn.Module, inputs: list[str], batches: list[list[np.ndarray]], path: pathlib.Path) -> float:
    """Largest difference of the graph to the module over batches of feeds. Raises when it is too large."""
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    worst = 0.0
    for feeds in batches:
        given = session.run(None, dict(zip(inputs, feeds, strict=True)))[0]
        with torch.no_grad():
            wanted = model(*(torch.from_numpy(feed) for feed in feeds)).numpy()
        worst = max(worst, float(np.abs(given - wanted).max()))
    if worst > TOLERANCE:
        raise SystemExit(f"parity failed: {path.name} differs by {worst}")
    return worst

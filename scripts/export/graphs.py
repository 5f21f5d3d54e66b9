"""Writes modules of PyTorch as graphs, one after the other, for recipes whose models no exporter knows."""

import tempfile
from pathlib import Path

import onnx
import torch

# A file of protobuf ends at 2 GiB; weights above this lie beside their graph.
EXTERNAL_BYTES = 100 * 2**20


def rms_norm(self, values):
    """torch.nn.RMSNorm in operators that opset 18 has."""
    wide = values.float()
    unit = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + self.eps)
    return (unit if self.weight is None else unit * self.weight.float()).type_as(values)


torch.nn.RMSNorm.forward = rms_norm


def write_graph(module, path, inputs, outputs, free):
    """`inputs` are name and example, `free` are name and its free dimensions."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        draft = Path(folder) / "draft.onnx"
        with torch.no_grad():
            torch.onnx.export(
                module.eval(),
                tuple(inputs.values()),
                str(draft),
                input_names=list(inputs),
                output_names=outputs,
                dynamic_axes=free,
                opset_version=18,
                dynamo=False,
            )
        graph = onnx.load(draft)
    compact(graph.graph)
    size = sum(len(tensor.raw_data) for tensor in graph.graph.initializer)
    onnx.save_model(
        graph,
        path,
        save_as_external_data=size > EXTERNAL_BYTES,
        all_tensors_to_one_file=True,
        location=f"{path.name}_data",
    )


def compact(graph):
    """A loop that was unrolled has its constants in each turn, and more names than anything else."""
    names = {value.name: value.name for value in (*graph.input, *graph.output)}
    constants = {}

    def short(name):
        return names.setdefault(name, f"v{len(names)}") if name else ""

    def rename(part):
        part.ClearField("value_info")
        kept = []
        for node in part.node:
            if node.op_type == "Constant" and part is graph:
                known = constants.setdefault(node.attribute[0].SerializeToString(), node.output[0])
                if known != node.output[0]:
                    names[node.output[0]] = short(known)
                    continue
            node.ClearField("name")
            node.input[:] = [short(name) for name in node.input]
            for attribute in node.attribute:
                if attribute.HasField("g"):
                    rename(attribute.g)
            node.output[:] = [short(name) for name in node.output]
            kept.append(node)
        del part.node[:]
        part.node.extend(kept)
        for tensor in part.initializer:
            tensor.name = short(tensor.name)
        if part is not graph:
            for value in part.output:
                value.name = short(value.name)

    rename(graph)

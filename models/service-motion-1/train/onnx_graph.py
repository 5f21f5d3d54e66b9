"""A thin writer of ONNX graphs: every call adds a node and returns the name of its output."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 17
IR_VERSION = 9

FLOAT, UINT8, INT64, BOOL = TensorProto.FLOAT, TensorProto.UINT8, TensorProto.INT64, TensorProto.BOOL


class Graph:
    """Nodes and constants of one graph, or of one branch of an If."""

    def __init__(self, prefix: str = ""):
        self.prefix = prefix
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []
        self.count = 0

    def op(self, kind: str, *inputs, outputs: int = 1, **attributes):
        """Adds a node; arrays and numbers among the inputs become constants."""
        names = [self._operand(item) for item in inputs]
        out = [self._name(kind) for _ in range(outputs)]
        self.nodes.append(helper.make_node(kind, names, out, **attributes))
        return out[0] if outputs == 1 else out

    def constant(self, value: np.ndarray) -> str:
        """Stores an array as it is."""
        name = self._name("constant")
        self.constants.append(numpy_helper.from_array(np.array(value, order="C"), name))
        return name

    def half(self, value: np.ndarray) -> str:
        """Stores a float array as float16; the runtime casts it once, when it loads the graph."""
        return self.op("Cast", self.constant(np.asarray(value, np.float16)), to=FLOAT)

    def slice(self, value: str, axis: int, start, end, step: int = 1) -> str:
        """value[start:end:step] along one axis; start and end are ints or [1] int64 names."""
        return self.op("Slice", value, bound(start), bound(end), ints(axis), ints(step))

    def reshape(self, value: str, *shape) -> str:
        """Reshapes; each item of shape is an int or the name of a [1] int64."""
        return self.op("Reshape", value, self.vector(*shape))

    def vector(self, *items) -> str:
        """Joins ints and [1] int64 names to one int64 vector."""
        if all(isinstance(item, int) for item in items):
            return self.constant(ints(*items))
        return self.op("Concat", *[bound(item) for item in items], axis=0)

    def dimension(self, value: str, axis: int) -> str:
        """Size of one axis, [1] int64."""
        return self.slice(self.op("Shape", value), 0, axis, axis + 1)

    def alias(self, value: str, name: str) -> None:
        """Gives a value the public name of an output."""
        self.nodes.append(helper.make_node("Identity", [value], [name]))

    def model(self, inputs, outputs) -> onnx.ModelProto:
        """inputs, outputs: (name, element type, shape) with strings for dynamic sizes."""
        graph = helper.make_graph(
            self.nodes,
            "graph",
            [helper.make_tensor_value_info(*item) for item in inputs],
            [helper.make_tensor_value_info(*item) for item in outputs],
            self.constants,
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)])
        model.ir_version = IR_VERSION
        model.producer_name = "service-motion-1"
        onnx.checker.check_model(model)
        return model

    def branch(self, outputs: list[str]) -> onnx.GraphProto:
        """This graph as a branch of an If; outputs are names made by it."""
        infos = [helper.make_tensor_value_info(name, FLOAT, None) for name in outputs]
        return helper.make_graph(self.nodes, self.prefix, [], infos, self.constants)

    def loop(self, count: str, body: "Graph", result: str) -> str:
        """Runs body count ([1] int64) times; its result (made by body from "frame_index") is stacked."""
        body.nodes.insert(0, helper.make_node("Identity", ["loop_going"], ["loop_goes_on"]))
        inner = helper.make_graph(
            body.nodes,
            body.prefix,
            [
                helper.make_tensor_value_info("frame_index", INT64, []),
                helper.make_tensor_value_info("loop_going", BOOL, []),
            ],
            [
                helper.make_tensor_value_info("loop_goes_on", BOOL, []),
                helper.make_tensor_value_info(result, FLOAT, None),
            ],
            body.constants,
        )
        return self.op("Loop", self.op("Squeeze", count, ints(0)), self.constant(np.array(True)), body=inner)

    def _operand(self, item) -> str:
        if isinstance(item, str):
            return item
        if isinstance(item, (int, float)):
            item = np.float32(item)
        return self.constant(np.asarray(item))

    def _name(self, kind: str) -> str:
        self.count += 1
        return f"{self.prefix}{kind}_{self.count}"


def ints(*items: int) -> np.ndarray:
    """An int64 vector."""
    return np.array(items, np.int64)


def bound(item):
    """An int as a vector of one; names pass."""
    return ints(item) if isinstance(item, int) else item

"""The two graphs of a size and element type, made in a folder: file, inputs, weights."""

import pathlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from decoder import decode
from denoiser import denoise
from onnx_operators import OnnxOperators, write_graph
from operators import Operators, Value
from shapes import Sizes
from weights import write_weights


@dataclass(frozen=True)
class Subject:
    name: str
    element: str
    graph: pathlib.Path
    weights_file: pathlib.Path
    feeds: pathlib.Path
    inputs: dict[str, tuple[int, ...]]
    output: tuple[str, str]
    """Name and element type."""
    run: Callable[..., Value]
    """Operators and inputs in order to the output."""
    plan: OnnxOperators

    def feed_values(self) -> list[np.ndarray]:
        return [np.fromfile(self.feeds / f"{name}.bin", np.float32).reshape(s) for name, s in self.inputs.items()]


def make_subject(name: str, sizes: Sizes, element: str, folder: pathlib.Path) -> Subject:
    """Throws ModuleNotFoundError where the Python package `onnx` is missing."""
    inputs, output, run = DESCRIPTIONS[name](sizes)
    plan = OnnxOperators(element)
    value = run(plan, *(plan.cast(input_, element) for input_ in inputs))
    if output[1] != "uint8":
        value = plan.cast(value, output[1])
    folder = folder / f"{name}-{element}"
    feeds = folder / "feeds"
    feeds.mkdir(parents=True, exist_ok=True)
    generator = np.random.default_rng(7)
    for input_, shape in inputs.items():
        generator.standard_normal(shape, np.float32).tofile(feeds / f"{input_}.bin")
    weights_file = folder / "weights.bin"
    offsets = write_weights(weights_file, plan.weights, element)
    graph = folder / f"{name}.onnx"
    write_graph(plan, inputs, (output[0], value, output[1]), (graph, offsets, weights_file.name))
    return Subject(name, element, graph, weights_file, feeds, inputs, output, run, plan)


def describe_denoiser(sizes: Sizes) -> Any:
    s = sizes.denoiser
    inputs = {
        "latents": (1, s.channels, s.frames, s.height, s.width_latents),
        "time": (1, s.time_features),
        "context": (1, s.text_tokens, s.text_width),
    }

    def run(o: Operators, latents: Value, time: Value, context: Value) -> Value:
        return denoise(o, s, latents, time, context)

    return inputs, ("velocity", "float32"), run


def describe_decoder(sizes: Sizes) -> Any:
    s = sizes.decoder
    inputs = {"latents": (1, s.channels, s.frames, s.height, s.width_latents)}
    return inputs, ("frames", "uint8"), lambda o, latents: decode(o, s, latents)


def describe_transfer(sizes: Sizes) -> Any:
    """One number on the device, spread over a window's frames: all that takes time is the way to the host."""
    s, (width, height) = sizes.decoder, sizes.pixels
    shape = (4 * s.frames, height, width, 3)

    def run(o: OnnxOperators, level: Value) -> Value:
        return o.cast(o.node("Expand", level, o.integers(shape)), "uint8")

    return {"level": (1, 1, 1, 1)}, ("frames", "uint8"), run


DESCRIPTIONS: dict[str, Callable[[Sizes], Any]] = {
    "denoiser": describe_denoiser,
    "decoder": describe_decoder,
    "transfer": describe_transfer,
}

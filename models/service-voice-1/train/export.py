"""Exports the voice to ONNX with float16 weights, checks it against torch and writes the package."""

import io
import pathlib
import warnings

import numpy as np
import onnx
import onnxruntime
import pyloudnorm
import torch
from onnx import TensorProto, helper, numpy_helper

from . import texts
from .teachers import VOICES
from .manifest import phone_table, voice_config, write_manifest
from .reader import Reader
from .speak import ends_trimmed, feed_of
from .speaker import Speaker
from .spread import LEVEL, enliven, measure_spread
from .vocoder import RATE, Vocoder
from .voice import PITCH_STEPS, Voice

OPSET = 17
SMALLEST_HALF = 256
"""Tensors of fewer numbers stay float32."""
EXACT = ("analysis_", "synthesis_", "amplitude_basis", "phase_basis", "plain_basis", "mean", "deviation")
"""Tensors that stay float32 whatever their size, by parts of their names."""
TOLERANCE = 1e-5
OTHER_STEPS = 0.01
"""Share of frames whose pitch may be rounded to the neighbouring step."""
LOUDNESS_LUFS, LOUDNESS_LINES = -21.5, 24
"""What every voice is brought to, on so many sentences."""
TEXTS = ["The gate was open, but nobody came.", "Can you read 42 of them?", "Yes."]


def load_voice(folder: pathlib.Path, size: dict) -> Voice:
    """The trained halves with the vocoder, their weights rounded to float16 as they are stored."""
    reader, speaker = Reader(size["reader_width"]), Speaker(size["speaker_width"])
    for name, part in (("reader", reader), ("speaker", speaker)):
        part.load_state_dict(torch.load(folder / f"{name}.pt", weights_only=True)["model"])
        for weight in part.parameters():
            if weight.numel() >= SMALLEST_HALF:
                weight.data = weight.data.half().float()
    spread = folder / "spread.pt"
    if not spread.exists():
        torch.save(measure_spread(folder, speaker.eval()), spread)
    enliven(speaker.requires_grad_(False), *torch.load(spread, weights_only=True))
    voice = Voice(reader, speaker, Vocoder()).eval().requires_grad_(False)
    equalise(voice)
    return voice


def equalise(voice: Voice) -> None:
    """Brings all voices to the same loudness (EBU R 128) on sentences of WordNet."""
    meter = pyloudnorm.Meter(RATE)
    lines = [line if line.endswith("?") else f"{line}." for line in texts.spoken_lines(5, 14, LOUDNESS_LINES, 0.2, 11)]
    for number in range(len(VOICES)):
        said = [voice(*arguments_of(line, number).values()).numpy().reshape(-1) for line in lines]
        loudness = meter.integrated_loudness(np.concatenate([ends_trimmed(sound) for sound in said]))
        voice.speaker.mean[number, LEVEL] += (LOUDNESS_LUFS - loudness) * np.log(10) / 20


def arguments_of(text: str, voice: int, length: float = 1.0) -> dict[str, torch.Tensor]:
    """Inputs of one run by name."""
    return {name: torch.from_numpy(value) for name, value in feed_of(text, voice, length).items()}


def export_voice(voice: Voice) -> onnx.ModelProto:
    """The graph, its large weights as float16."""
    arguments = arguments_of(TEXTS[0], 1)
    buffer = io.BytesIO()
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            voice,
            tuple(arguments.values()),
            buffer,
            input_names=list(arguments),
            output_names=["output"],
            dynamic_axes={"input": {1: "characters"}, "output": {2: "samples"}},
            opset_version=OPSET,
            dynamo=False,
        )
    model = onnx.load_from_string(buffer.getvalue())
    store_half(model)
    model.ir_version = 8
    model.producer_name, model.producer_version = "service-voice-1", ""
    onnx.checker.check_model(model)
    return model


def store_half(model: onnx.ModelProto) -> None:
    """Replaces large float weights by float16 ones followed by a Cast, which loading folds."""
    casts = []
    for weight in model.graph.initializer:
        is_exact = any(part in weight.name for part in EXACT) or "vocoder" in weight.name
        if weight.data_type != TensorProto.FLOAT or np.prod(weight.dims) < SMALLEST_HALF or is_exact:
            continue
        name, values = weight.name, numpy_helper.to_array(weight)
        if not np.array_equal(values.astype(np.float16).astype(np.float32), values):
            continue
        weight.CopyFrom(numpy_helper.from_array(values.astype(np.float16), f"{name}_half"))
        casts.append(helper.make_node("Cast", [f"{name}_half"], [name], to=TensorProto.FLOAT))
    nodes = [*casts, *model.graph.node]
    del model.graph.node[:]
    model.graph.node.extend(nodes)


def check_parity(model: onnx.ModelProto, voice: Voice) -> float:
    """Greatest difference of samples between ONNX Runtime and torch, both at the graph's pitch. Fails above TOLERANCE.

    A pitch halfway between two steps may be rounded either way, after which phases differ: pitch is compared by itself.
    """
    shown, pitch = onnx.ModelProto.FromString(model.SerializeToString()), pitch_name(model)
    shown.graph.output.append(helper.make_empty_tensor_value_info(pitch))
    session = onnxruntime.InferenceSession(shown.SerializeToString(), providers=["CPUExecutionProvider"])
    worst = 0.0
    for number, text in enumerate(TEXTS):
        arguments = arguments_of(text, number % len(VOICES), 1.0 + 0.25 * number)
        feed = {name: value.numpy() for name, value in arguments.items()}
        actual, steps = session.run(["output", pitch], feed)
        expected = said_at(voice, arguments, torch.from_numpy(steps))
        if actual.shape != expected.shape:
            raise ValueError(f"{text!r}: ONNX made {actual.shape}, torch {expected.shape}")
        worst = max(worst, float(np.abs(actual - expected).max()))
    if worst > TOLERANCE:
        raise ValueError(f"ONNX differs from torch by {worst:.2e}, allowed are {TOLERANCE}")
    return worst


def pitch_name(model: onnx.ModelProto) -> str:
    """The tensor of pitch in steps: what the voice itself, not its vocoder, rounds last."""
    return [node.output[0] for node in model.graph.node if node.op_type == "Round" and "vocoder" not in node.name][-1]


def said_at(voice: Voice, arguments: dict[str, torch.Tensor], steps: torch.Tensor) -> np.ndarray:
    """The waveform at a pitch given in steps. Fails where the voice's own is more than a step away, or often another."""

    def give(_, values):
        apart = (values[0] * PITCH_STEPS - steps).abs()
        if apart.max() > 1 or apart.mean() > OTHER_STEPS:
            raise ValueError(f"pitch differs by up to {apart.max():.0f} steps, in {apart.mean():.1%} of frames")
        return (steps / PITCH_STEPS, *values[1:])

    hook = voice.vocoder.register_forward_pre_hook(give)
    try:
        with torch.no_grad():
            return voice(*arguments.values()).numpy()
    finally:
        hook.remove()


def export_package(folder: pathlib.Path, package: pathlib.Path, size: dict) -> None:
    """Writes the graph, its config and model.json."""
    voice = load_voice(folder, size)
    model = export_voice(voice)
    print(f"parity: {check_parity(model, voice):.1e}", flush=True)
    (package / "voice.onnx").write_bytes(model.SerializeToString())
    (package / "voice.onnx.json").write_text(voice_config())
    (package / "evaluation" / "phones.json").write_text(phone_table())
    write_manifest(package)

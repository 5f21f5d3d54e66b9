"""Compares the exported graph with torch."""

import pathlib

import numpy as np
import onnxruntime
import torch

from .measure_phones import measured

TOLERANCE = 1e-3
FLOOR = -20
"""Log probabilities below it are all the same to the decoder."""


def check_acoustic(path: pathlib.Path, model: torch.nn.Module) -> float:
    """Largest difference of log probabilities on held-out speech. Raises where it is too large."""
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    worst = 0.0
    for cases in measured().values():
        for features, _ in cases[:4]:
            given = session.run(None, {"features": features[None]})
            for head, wanted in zip(given, model(torch.from_numpy(features[None]))):
                difference = np.maximum(head, FLOOR) - np.maximum(wanted.numpy(), FLOOR)
                worst = max(worst, float(np.abs(difference).max()))
    if worst > TOLERANCE:
        raise SystemExit(f"parity failed: {worst}")
    return worst

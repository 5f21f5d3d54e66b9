"""Rounds of several contenders in turn, and what a part has found so far."""

import json
import pathlib
import time
from collections.abc import Callable
from typing import Any

import numpy as np


SLOWEST_RUN_S = 45.0
"""A run that takes longer counts as hung."""


class Findings:
    """Written after every figure, so that a part that is stopped leaves what it has."""

    def __init__(self, path: pathlib.Path) -> None:
        self.path = path
        self.found: dict[str, list[dict[str, Any]]] = {"rows": [], "facts": [], "missing": []}

    def row(self, what: str, values: list[float], unit: str) -> None:
        ordered = sorted(values)
        p50, p90 = (round_to_four(ordered[max(0, int(np.ceil(it * len(ordered))) - 1)]) for it in (0.5, 0.9))
        row = {"what": what, "unit": unit, "p50": p50, "p90": p90, "count": len(ordered)}
        self._add("rows", row | {"values": [round_to_four(value) for value in values]})

    def fact(self, what: str, value: str | float) -> None:
        self._add("facts", {"what": what, "value": round_to_four(value) if isinstance(value, float) else value})

    def missing(self, what: str, why: str) -> None:
        self._add("missing", {"what": what, "why": why})

    def _add(self, kind: str, entry: dict[str, Any]) -> None:
        self.found[kind].append(entry)
        draft = self.path.with_suffix(".draft")
        draft.write_text(json.dumps(self.found))
        draft.replace(self.path)


def round_to_four(value: float) -> float:
    return float(f"{value:.4g}")


def take_turns(contenders: list, rounds: int, budget_s: float, failed: Callable[[str, str], None]) -> dict:
    """
    Milliseconds by contender: one run of each a round. Who has spent its share of the time sits out, so that a slow
    one costs the others no rounds.
    """
    times: dict[str, list[float]] = {it.name: [] for it in contenders}
    share_s = budget_s / max(1, len(contenders))
    started = time.monotonic()
    for round_ in range(rounds):
        # The order turns, so that none always follows the same other.
        shift = round_ % max(1, len(contenders))
        for it in contenders[shift:] + contenders[:shift]:
            spent = sum(times[it.name]) / 1_000
            if spent > share_s or time.monotonic() - started > budget_s:
                continue
            try:
                times[it.name].append(it.run(max(share_s, SLOWEST_RUN_S)))
            except Exception as thrown:  # One that breaks must not end the others.
                failed(it.name, str(thrown))
                contenders = [other for other in contenders if other is not it]
    return {name: values for name, values in times.items() if values}


def relative_error(found: np.ndarray, expected: np.ndarray) -> float:
    """Of the difference's length to the length expected; not a number where either is none."""
    a, b = (np.asarray(x, np.float64).ravel() for x in (found, expected))
    return float(np.linalg.norm(a - b) / np.linalg.norm(b))

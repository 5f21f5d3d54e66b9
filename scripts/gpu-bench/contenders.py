"""Who runs a graph: ONNX Runtime in Node as a worker opens it, and torch, eager and compiled."""

import json
import pathlib
import queue
import subprocess
import threading
import time
from collections.abc import Callable

import numpy as np

from kit import Kit
from subjects import Subject


class NodeContender:
    """`framemill bench-graph --paced`: each run is asked for by a line."""

    def __init__(self, kit: Kit, subject: Subject, provider: str, log: pathlib.Path, option: str = "") -> None:
        self.name = f"framemill, {provider}{', recorded' if option else ''}"
        self.provider = provider
        self.lines: queue.Queue[str | None] = queue.Queue()
        self.log = log
        command = [*kit.framemill, "bench-graph", str(subject.graph), "--paced", "--provider", provider]
        with log.open("w") as errors:
            self.process = subprocess.Popen(
                [*command, "--feeds", str(subject.feeds)],
                env={**kit.environment, "PROVIDER_OPTIONS": option},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        for line in self.process.stdout or ():
            self.lines.put(line)
        self.lines.put(None)

    def open(self, limit_s: float) -> float:
        """Milliseconds that the session took to open."""
        return self._answer(limit_s)["loadMs"]

    def run(self, limit_s: float, how: str = "kept") -> float:
        self._say(how)
        return self._answer(limit_s)["runMs"]

    def output(self, subject: Subject, folder: pathlib.Path, limit_s: float) -> np.ndarray:
        self._say(f"save {folder}")
        self._answer(limit_s)
        name, element = subject.output
        return np.fromfile(folder / f"{name}.bin", element)

    def close(self) -> None:
        if self.process.stdin:
            self.process.stdin.close()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()

    def _say(self, line: str) -> None:
        if self.process.stdin is None or self.process.poll() is not None:
            raise RuntimeError(self._fault())
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()

    def _answer(self, limit_s: float) -> dict:
        try:
            line = self.lines.get(timeout=max(1.0, limit_s))
        except queue.Empty:
            self.process.kill()
            raise RuntimeError(f"no answer within {limit_s:.0f} s") from None
        if line is None:
            self.process.wait()
            raise RuntimeError(self._fault())
        return json.loads(line)

    def _fault(self) -> str:
        """What it said last, errors of ONNX Runtime included."""
        said = [line.strip() for line in self.log.read_text(errors="replace").splitlines() if line.strip("\x1b[m \t")]
        return " | ".join(said[-3:])[:1200] or f"it ended with code {self.process.poll()}"


class TorchContender:
    """Times with a synchronised host clock, as the other side's runs are timed."""

    def __init__(self, name: str, run: Callable, inputs: list, device: str) -> None:
        self.name, self._run, self._inputs, self._device = name, run, inputs, device

    def call(self):
        import torch

        with torch.inference_mode():
            result = self._run(*self._inputs)
        if self._device == "cuda":
            torch.cuda.synchronize()
        return result

    def open(self, _limit_s: float) -> float:
        """The first run: compilation, where there is one."""
        return self.run(0)

    def run(self, _limit_s: float) -> float:
        started = time.perf_counter()
        self.call()
        return (time.perf_counter() - started) * 1_000

    def close(self) -> None:
        pass


def torch_contenders(subject: Subject, device: str, compiled: bool = True) -> list[TorchContender]:
    """Both share weights and inputs."""
    import torch

    from torch_operators import TorchOperators
    from weights import read_weights

    weights = read_weights(subject.weights_file, subject.plan.weights, subject.element, device)
    operators = TorchOperators(weights, subject.plan.tables, subject.element, device)
    kind = getattr(torch, subject.element)
    inputs = [torch.from_numpy(values).to(device, kind) for values in subject.feed_values()]

    def forward(*values):
        result = subject.run(operators, *values)
        return result.float() if subject.output[1] == "float32" else result

    found = [TorchContender("torch eager", forward, inputs, device)]
    if compiled:
        fast = torch.compile(forward, fullgraph=True)
        found.append(TorchContender("torch.compile", fast, inputs, device))
    return found

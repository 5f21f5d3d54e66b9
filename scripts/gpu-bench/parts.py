"""The parts of a run. Each is a process of its own with a time limit, and writes what it finds as it goes."""

import contextlib
import json
import pathlib
import platform
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

import numpy as np

from contenders import NodeContender, TorchContender, torch_contenders
from kit import Kit
from measuring import Findings, relative_error, take_turns
from shapes import FULL, TINY, Sizes
from subjects import Subject, make_subject

ROUNDS = 15
GPU_FACTS = "name,driver_version,memory.total,clocks.sm,clocks.mem,clocks.max.sm,power.limit,temperature.gpu"


@dataclass(frozen=True)
class Setup:
    kit: Kit
    tiny: bool
    providers: list[str]
    folder: pathlib.Path
    """For graphs, weights and logs."""
    findings: Findings
    ends_at: float
    """On time.monotonic()."""

    @property
    def sizes(self) -> Sizes:
        return TINY if self.tiny else FULL

    @property
    def left_s(self) -> float:
        return self.ends_at - time.monotonic()


def machine(setup: Setup) -> None:
    fact, missing = setup.findings.fact, setup.findings.missing
    names = GPU_FACTS.split(",")
    try:
        values = call(["nvidia-smi", f"--query-gpu={GPU_FACTS}", "--format=csv,noheader"], 20).split(", ")
        for name, value in zip(names, values, strict=False):
            fact(f"GPU {name}", value.strip())
    except (OSError, subprocess.SubprocessError) as thrown:
        missing("facts of the GPU", f"nvidia-smi: {thrown}")
    cpu = pathlib.Path("/proc/cpuinfo").read_text().split("model name", 1)[-1].split("\n", 1)[0]
    fact("processor", cpu.strip(" \t:"))
    fact("system", f"{platform.system()} {platform.release()}, glibc {platform.libc_ver()[1]}")
    fact("load average", float(pathlib.Path("/proc/loadavg").read_text().split()[0]))
    fact("Node", call([setup.kit.node, "--version"], 20).strip())
    fact("onnxruntime-node", setup.kit.runtime_version())
    fact("Python", platform.python_version())
    for package in ("torch", "triton", "onnx", "numpy"):
        with contextlib.suppress(PackageNotFoundError):
            fact(package, version(package))


def providers(setup: Setup) -> None:
    """Each proves itself in a process of its own, by the product's canary graph: a native abort ends only that one."""
    module = (setup.kit.app / "dist/runtime/ort/choose-providers.js").as_uri()
    for name in setup.providers:
        script = f"const {{ probeProvider }} = await import({module!r}); await probeProvider({name!r});"
        command = [setup.kit.node, "--input-type=module", "-e", script]
        started = time.monotonic()
        try:
            done = subprocess.run(command, env=setup.kit.environment, capture_output=True, text=True, timeout=60)
            fault = "" if done.returncode == 0 else first_words(done.stderr) or f"exit code {done.returncode}"
        except subprocess.TimeoutExpired:
            fault = "no answer within 60 s"
        took = f"proves itself ({time.monotonic() - started:.1f} s, process included)"
        setup.findings.fact(f"provider {name}", f"does not run: {fault}" if fault else took)


def ceilings(setup: Setup) -> None:
    """What the device reaches in torch: a large product of matrices, and copies."""
    torch = import_torch(setup)
    if torch is None:
        return
    device = device_of(torch)
    size = 256 if setup.tiny else 8192
    for element in ("float32",) if setup.tiny else ("float16", "bfloat16"):
        a, b = (torch.randn(size, size, device=device, dtype=getattr(torch, element)) for _ in range(2))
        times = repeat(TorchContender("product", torch.matmul, [a, b], device), 12)
        setup.findings.row(f"{size} x {size} product, {element}", [2e-9 * size**3 / ms for ms in times], "TFLOP/s")
    count = 2**22 if setup.tiny else 2**30
    source = torch.randint(0, 255, (count,), dtype=torch.uint8, device=device)
    target = torch.empty_like(source)
    times = repeat(TorchContender("copy", target.copy_, [source], device), 12)
    setup.findings.row("copy on the device, read + written", [2e-6 * count / ms for ms in times], "GB/s")
    if device == "cuda":
        for name, pinned in (("pageable", False), ("pinned", True)):
            host = torch.empty(count, dtype=torch.uint8, pin_memory=pinned)
            times = repeat(TorchContender(name, host.copy_, [source], device), 6)
            setup.findings.row(f"copy to the host, {name} memory", [1e-6 * count / ms for ms in times], "GB/s")


def denoiser(setup: Setup) -> None:
    contest(setup, "denoiser", "float32" if setup.tiny else "float16")


def denoiser_bfloat16(setup: Setup) -> None:
    contest(setup, "denoiser", "bfloat16")


def decoder(setup: Setup) -> None:
    contest(setup, "decoder", "float32" if setup.tiny else "float16")


def contest(setup: Setup, name: str, element: str) -> None:
    """One subject on every provider and in torch, in turns; outputs beside torch eager's first."""
    torch = import_torch(setup)
    subject = prepare(setup, name, element)
    label = f"{name}, {element}"
    if name == "denoiser":
        setup.findings.fact(f"{label}: arithmetic of one run, TFLOP", setup.sizes.denoiser.flops / 1e12)
    torches = [] if torch is None else torch_contenders(subject, device_of(torch))
    with contextlib.ExitStack() as stack:
        eager = opened(setup, label, torches[:1])
        reference = eager[0].call().cpu().numpy() if eager else None
        nodes = [NodeContender(setup.kit, subject, it, log_of(setup, subject, it)) for it in setup.providers]
        for node in nodes:
            stack.callback(node.close)
        agreed = [it for it in opened(setup, label, nodes) if agrees(setup, (label, subject), it, reference)]
        # Compiling takes long, and may take too long: what does not need it is on paper before.
        measure(setup, f"{label}, before compiling", [*eager, *agreed], 3)
        measure(setup, label, [*eager, *opened(setup, label, torches[1:]), *agreed], ROUNDS)
        if name == "denoiser":
            residence(setup, label, subject, agreed)


def residence(setup: Setup, label: str, subject: Subject, nodes: list[NodeContender]) -> None:
    """What a step costs that leaves latents on the device, that returns them, and that is replayed from a recording."""
    with contextlib.ExitStack() as stack:
        ways: list[Way] = []
        for node in nodes:
            ways += [Way(node, "placed"), Way(node, "returned")]
            option = RECORDING.get(node.provider)
            if option is None:
                continue
            log = log_of(setup, subject, f"{node.provider}-recorded")
            recorded = NodeContender(setup.kit, subject, node.provider, log, option)
            stack.callback(recorded.close)
            ways += [Way(it, "returned") for it in opened(setup, label, [recorded])]
        measure(setup, f"{label}, where latents are", ways, ROUNDS)


RECORDING = {"cuda": "cuda.enable_cuda_graph=1", "webgpu": "webgpu.enableGraphCapture=1"}


@dataclass(frozen=True)
class Way:
    """A contender that is always asked for one kind of run."""

    node: NodeContender
    how: str

    @property
    def name(self) -> str:
        return f"{self.node.name}, {self.how}"

    def run(self, limit_s: float) -> float:
        return self.node.run(limit_s, self.how)


TURNS = 5_000


def alternation(setup: Setup) -> None:
    """An embedder and a reranker in turns in one process: what a turn takes, and whether the GPU's memory grows."""
    turns = 50 if setup.tiny else TURNS
    for provider in setup.providers:
        what = f"embedder and reranker in turns, {provider}"
        script = pathlib.Path(__file__).parent / "alternate.mjs"
        command = [setup.kit.node, str(script), str(setup.kit.app), provider, str(turns)]
        try:
            limit_s = max(5.0, min(setup.left_s - 5, 60.0))
            done = subprocess.run(
                command, env=setup.kit.environment, capture_output=True, text=True, timeout=limit_s
            )
        except subprocess.TimeoutExpired:
            setup.findings.missing(what, f"{turns} turns did not end in their time")
            continue
        if done.returncode != 0:
            setup.findings.missing(what, first_words(done.stderr))
            continue
        tenths = [json.loads(line) for line in done.stdout.splitlines()]
        setup.findings.row(f"{what}: a turn", [it["ms"] for it in tenths], "ms")
        used = [it["mebibytes"] for it in tenths if it["mebibytes"] is not None]
        if used:
            setup.findings.fact(f"{what}: MiB used after each tenth of {turns} turns", used)
        else:
            setup.findings.missing(f"{what}: memory of the GPU", "nvidia-smi does not tell")


def measure(setup: Setup, label: str, contenders: list, rounds: int) -> None:
    def failed(who: str, why: str) -> None:
        setup.findings.missing(f"{label}: {who}", why)

    times = take_turns(contenders, rounds, max(5.0, setup.left_s * rounds / ROUNDS - 10), failed)
    for name, values in times.items():
        setup.findings.row(f"{label}: {name}", values, "ms")


def opened(setup: Setup, label: str, contenders: list) -> list:
    """Those that open and run once; what the others say is noted."""
    ready = []
    for it in contenders:
        try:
            limit_s = min(120.0, setup.left_s - 15)
            setup.findings.fact(f"{label}: {it.name}, opening, ms", it.open(limit_s))
            it.run(limit_s)
            ready.append(it)
        except Exception as thrown:  # Whatever one says, the others go on.
            setup.findings.missing(f"{label}: {it.name}", str(thrown)[:1200])
            it.close()
    return ready


def agrees(setup: Setup, what: tuple[str, Subject], node: NodeContender, reference: np.ndarray | None) -> bool:
    """Notes the distance from torch eager. One whose output is not finite, or is something else, is not timed."""
    label, subject = what
    found = node.output(subject, setup.folder / "outputs" / node.name.replace(", ", "-"), setup.left_s)
    if reference is None:
        return True
    error = relative_error(found, reference)
    setup.findings.fact(f"{label}: {node.name}, relative error beside torch eager", error)
    if error < TOLERANCES[subject.element]:
        return True
    setup.findings.missing(f"{label}: {node.name}", f"its numbers are off by {error:.3g}, so it was not timed")
    return False


TOLERANCES = {"float32": 1e-3, "float16": 5e-2, "bfloat16": 2e-1}
"""Of thirty layers; half of what comes of different numbers is near 1."""


def transfer(setup: Setup) -> None:
    """A window's frames from the device into JavaScript."""
    subject = prepare(setup, "transfer", "float32")
    for provider in setup.providers:
        node = NodeContender(setup.kit, subject, provider, log_of(setup, subject, provider))
        try:
            node.open(60)
            node.run(60, "returned")
            values = [node.run(60, "returned") for _ in range(8)]
            setup.findings.row(f"a window's frames to the host: {node.name}", values, "ms")
        except RuntimeError as thrown:
            setup.findings.missing(f"a window's frames to the host: {node.name}", str(thrown))
        finally:
            node.close()


def encoding(setup: Setup) -> None:
    """A clip's frames to H.264 by ffmpeg once they are all there: a worker, which encodes meanwhile, waits less."""
    sizes = setup.sizes
    width, height = sizes.pixels
    frames = sizes.clip.windows * sizes.decoder.frames * 4
    raw = np.random.default_rng(3).integers(0, 255, (height // 8, width // 8 + frames, 3), np.uint8)
    large = raw.repeat(8, 0).repeat(8, 1)
    clip = b"".join(large[:, 8 * at : 8 * at + width].tobytes() for at in range(frames))
    source = f"-f rawvideo -pix_fmt rgb24 -s {width}x{height} -r 16 -i pipe:0".split()
    target = "-c:v libx264 -preset veryfast -pix_fmt yuv420p -f mp4 -y".split()
    command = ["ffmpeg", "-v", "error", *source, *target, str(setup.folder / "clip.mp4")]
    times = []
    for _ in range(3):
        started = time.perf_counter()
        subprocess.run(command, input=clip, env=setup.kit.environment, check=True, timeout=60)
        times.append((time.perf_counter() - started) * 1_000)
    setup.findings.row(f"{frames} frames of {width} x {height} to MP4", times, "ms")


def whole_job(setup: Setup) -> None:
    """`framemill bench video` with the starter model, on each provider."""
    for provider in setup.providers:
        bench_suite(setup, "video", provider, 2 if setup.tiny else 5)


def all_quick(setup: Setup) -> None:
    bench_suite(setup, "all", setup.providers[0], 1, "--quick")


def bench_suite(setup: Setup, suite: str, provider: str, rounds: int, *more: str) -> None:
    out = setup.folder / f"bench-{provider}"
    command = [*setup.kit.framemill, "bench", suite, "--rounds", str(rounds), "--out", str(out), *more]
    environment = {**setup.kit.environment, "PROVIDERS": provider, "MODELS_DIR": str(setup.kit.app / "models")}
    what = f"bench {suite}, {provider}"
    try:
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=max(5, setup.left_s - 5)
        )
    except subprocess.TimeoutExpired:
        return setup.findings.missing(what, "it did not end in its time")
    if done.returncode != 0:
        return setup.findings.missing(what, first_words(done.stderr))
    for file in sorted(out.glob("*.json")):
        for row in json.loads(file.read_text()).get("rows", []):
            setup.findings.row(f"{what}: {row['what']}", [row["ratio"]], "ratio")
            if row["unit"] == "s":
                setup.findings.row(f"{what}: {row['what'].split(' / ')[0]}", [row["ours"]], "s")


@dataclass(frozen=True)
class Part:
    run: Callable[[Setup], None]
    limit_s: float


PARTS: dict[str, Part] = {
    "machine": Part(machine, 60),
    "providers": Part(providers, 150),
    "ceilings": Part(ceilings, 60),
    "denoiser": Part(denoiser, 270),
    "decoder": Part(decoder, 120),
    "transfer": Part(transfer, 60),
    "encoding": Part(encoding, 60),
    "alternation": Part(alternation, 120),
    "whole-job": Part(whole_job, 90),
    "denoiser-bfloat16": Part(denoiser_bfloat16, 120),
    "all-quick": Part(all_quick, 120),
}
"""In order of weight: what does not fit into the whole time is left out and said."""


def prepare(setup: Setup, name: str, element: str) -> Subject:
    started = time.monotonic()
    subject = make_subject(name, setup.sizes, element, setup.folder)
    megabytes = subject.weights_file.stat().st_size / 1e6
    took = f"{megabytes:.0f} MB of weights in {time.monotonic() - started:.1f} s"
    setup.findings.fact(f"{name}, {element}: making it", took)
    return subject


def import_torch(setup: Setup):
    try:
        import torch
    except ImportError as thrown:
        setup.findings.missing("everything of torch", f"not measured: no torch ({thrown})")
        return None
    return torch


def device_of(torch) -> str:
    return "cuda" if torch.cuda.is_available() else "cpu"


def repeat(contender: TorchContender, count: int) -> list[float]:
    for _ in range(3):
        contender.run(0)
    return [contender.run(0) for _ in range(count)]


def log_of(setup: Setup, subject: Subject, provider: str) -> pathlib.Path:
    return setup.folder / f"{subject.name}-{subject.element}-{provider}.log"


def call(command: list[str], limit_s: float) -> str:
    return subprocess.run(command, capture_output=True, text=True, timeout=limit_s, check=True).stdout


def first_words(text: str) -> str:
    """The lines that say what went wrong, without stack frames."""
    return " | ".join(telling_lines(text))[:1200]


def telling_lines(text: str) -> Iterator[str]:
    for line in text.splitlines():
        words = line.replace("\x1b[m", "").replace("\x1b[1;31m", "").strip()
        if words and not words.startswith(("at ", "Node.js v", "^", "node:", "file://")):
            yield words

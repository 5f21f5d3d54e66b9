"""Runs the parts one after the other, each in a process with its own limit, and writes results.json and results.md."""

import argparse
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
from typing import Any

from kit import open_kit
from measuring import Findings
from parts import PARTS, Setup
from report import write_report

SPARE_S = 15
"""What the report and the ends of processes take."""


def run(options: argparse.Namespace) -> int:
    chosen = options.parts or [name for name in PARTS if not (options.tiny and name == "denoiser-bfloat16")]
    if unknown := [name for name in chosen if name not in PARTS]:
        raise SystemExit(f"there is no part {unknown[0]}: give some of {', '.join(PARTS)}")
    open_kit(options.kit, options.node, options.cuda_libs)
    options.out.mkdir(parents=True, exist_ok=True)
    ends_at = time.monotonic() + options.minutes * 60 - SPARE_S
    started = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime())
    results: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="gpu-bench-") as scratch:
        for name in chosen:
            results[name] = run_part(name, options, pathlib.Path(scratch), ends_at - time.monotonic())
            # After each: whatever ends this process leaves what was found.
            write_report(options.out, {"started": started, "tiny": options.tiny, "parts": results})
    print((options.out / "results.md").read_text())
    return 0


def run_part(name: str, options: argparse.Namespace, scratch: pathlib.Path, left_s: float) -> dict[str, Any]:
    limit_s = min(PARTS[name].limit_s, left_s)
    empty: dict[str, Any] = {"rows": [], "facts": [], "missing": []}
    if limit_s < 10:
        return empty | {"missing": [{"what": f"all of {name}", "why": "no time was left"}]}
    found = scratch / f"{name}.json"
    command = [sys.executable, str(pathlib.Path(__file__).parent), "part", name, "--found", str(found)]
    command += ["--seconds", f"{limit_s:.0f}", "--scratch", str(scratch), "--kit", str(options.kit)]
    command += ["--providers", *options.providers, *(["--tiny"] if options.tiny else [])]
    command += ["--node", options.node] if options.node else []
    command += [word for folder in options.cuda_libs for word in ("--cuda-libs", str(folder))]
    print(f"{name}: at most {limit_s:.0f} s", flush=True)
    started = time.monotonic()
    fault = wait_for(command, scratch / f"{name}.log", limit_s)
    result = json.loads(found.read_text()) if found.is_file() else empty
    if fault:
        result["missing"].append({"what": f"the rest of {name}", "why": fault})
    return result | {"seconds": round(time.monotonic() - started, 1)}


def wait_for(command: list[str], log: pathlib.Path, limit_s: float) -> str:
    """Why it failed; empty where it did not. Ends its whole process group, so that no child keeps the GPU."""
    with log.open("w") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, start_new_session=True)
        try:
            code = process.wait(limit_s)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return f"it was stopped after {limit_s:.0f} s"
    if code == 0:
        return ""
    said = [line for line in log.read_text(errors="replace").splitlines() if line.strip()]
    return " | ".join(said[-2:])[:1200] or f"exit code {code}"


def run_one(options: argparse.Namespace) -> int:
    kit = open_kit(options.kit, options.node, options.cuda_libs)
    ends_at = time.monotonic() + options.seconds
    found = Findings(options.found)
    PARTS[options.name].run(Setup(kit, options.tiny, options.providers, options.scratch, found, ends_at))
    return 0

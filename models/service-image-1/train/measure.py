"""Measures peak memory and time of whole pictures, each in its own process.

python -m train.measure --folder build      (writes memory.json, then run train.export again)
"""

import argparse
import json
import pathlib
import resource
import subprocess
import sys
import time

from .shapes import SIZES


def measure_one(height: int, width: int) -> dict:
    """Peak resident bytes, and seconds of the sampling and of the painting, graphs loaded."""
    from .sample import Sampler

    sampler, size = Sampler(), (height, width)
    sampler.picture(sampler.latents("a red boat on the ocean", size), (64, 64))
    started = time.time()
    latents = sampler.latents("a red boat on the ocean at sunset", size)
    sampled = time.time()
    sampler.picture(latents, size)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    seconds = {"sampling": round(sampled - started, 2), "painting": round(time.time() - sampled, 2)}
    return {"peakBytes": peak, **seconds}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("build"))
    parser.add_argument("--one", nargs=2, type=int, metavar=("HEIGHT", "WIDTH"))
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure_one(*options.one)))
        return
    memory = {}
    for height, width in SIZES:
        command = [sys.executable, "-m", "train.measure", "--one", str(height), str(width)]
        found = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
        print(f"{width}x{height}", found, flush=True)
        memory[f"{width}x{height}"] = found["peakBytes"]
    (options.folder / "memory.json").write_text(json.dumps(memory, indent=2) + "\n")


if __name__ == "__main__":
    main()

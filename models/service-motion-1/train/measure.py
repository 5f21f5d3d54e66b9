"""Measures peak memory and time of whole clips, each in its own process.

python -m train.measure --folder build      (writes memory.json, then run train.export again)
"""

import argparse
import json
import pathlib
import resource
import subprocess
import sys
import time

from .manifest import SIZES

SECONDS = (4, 10)


def measure_one(height: int, width: int, seconds: int) -> dict:
    """A clip's tokens, a second of its frames, and its sound: peak resident bytes and seconds per stage."""
    import numpy as np

    from .sample import Sampler
    from .shapes import SAMPLE_RATE_HZ

    sampler, spent = Sampler(), {}
    started = time.time()
    latents = sampler.latents("a red boat sails across the ocean at sunset", seconds)
    spent["sampling"] = time.time() - started
    started = time.time()
    sampler.frames(latents, (height, width), only=range(24))
    spent["frames"] = time.time() - started
    started = time.time()
    noise = np.random.default_rng(0).standard_normal((1, 2, SAMPLE_RATE_HZ * seconds)).astype(np.float32)
    sampler.run("sound", {"encoder_hidden_states": sampler.slots("waves"), "noise": noise})
    spent["sound"] = time.time() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {"peakBytes": peak, **{name: round(value, 2) for name, value in spent.items()}}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("build"))
    parser.add_argument("--one", nargs=3, type=int, metavar=("HEIGHT", "WIDTH", "SECONDS"))
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure_one(*options.one)))
        return
    memory = {}
    for height, width in SIZES:
        for seconds in SECONDS:
            command = [sys.executable, "-m", "train.measure", "--one", str(height), str(width), str(seconds)]
            result = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            print(f"{width}x{height}x{seconds}", result, flush=True)
            memory[f"{width}x{height}x{seconds}"] = result["peakBytes"]
    (options.folder / "memory.json").write_text(json.dumps(memory, indent=2) + "\n")


if __name__ == "__main__":
    main()

"""Runs the exported graphs from prompt to picture, and writes a contact sheet.

python -m train.sample "a red boat sails across the ocean at sunset" --out boat.png
"""

import argparse
import pathlib

import numpy as np
import onnxruntime
from motion.tokenizer import tokenize
from PIL import Image

from .manifest import SAMPLER, SHIFT
from .shapes import CHANNELS

PACKAGE = pathlib.Path(__file__).resolve().parent.parent


class Sampler:
    """The graphs of a package and the loop around them."""

    def __init__(self, package: pathlib.Path = PACKAGE, threads: int = 1):
        self.package, self.threads = package, threads
        self.sessions: dict[str, onnxruntime.InferenceSession] = {}

    def run(self, name: str, feeds: dict) -> list[np.ndarray]:
        """Runs a graph, loading it on first use."""
        if name not in self.sessions:
            options = onnxruntime.SessionOptions()
            options.intra_op_num_threads = self.threads
            path = str(self.package / f"{name}.onnx")
            self.sessions[name] = onnxruntime.InferenceSession(path, options, ["CPUExecutionProvider"])
        return self.sessions[name].run(None, feeds)

    def slots(self, prompt: str) -> np.ndarray:
        """[1, 8, 48]"""
        return self.run("text-encoder", {"input_ids": tokenize(prompt)[None]})[0]

    def latents(self, prompt: str, size=(1024, 1024), seed: int = 1, **sampler) -> np.ndarray:
        """Guided flow sampling: [1, 379, 1, 1]. sampler: steps, guidance."""
        settings = SAMPLER | sampler
        slots = np.concatenate([self.slots(prompt), self.slots("")])
        sample = np.random.default_rng(seed).standard_normal((1, CHANNELS, 1, 1)).astype(np.float32)
        times = schedule(settings["steps"])
        frame = np.array([[*size, 0, 0, *size]] * 2, np.float32)
        for time, following in zip(times, times[1:]):
            feeds = {
                "sample": np.repeat(sample, 2, 0),
                "timestep": np.full(2, time, np.float32),
                "encoder_hidden_states": slots,
                "time_ids": frame,
            }
            wanted, unwanted = self.run("denoiser", feeds)[0]
            velocity = unwanted + settings["guidance"] * (wanted - unwanted)
            sample = sample + np.float32(following - time) * velocity[None]
        return sample

    def picture(self, latents: np.ndarray, size=(1024, 1024)) -> Image.Image:
        """size: height, width."""
        feeds = {"latent_sample": latents, "size": np.array(size, np.int64)}
        planes = self.run("still-decoder", feeds)[0][0]
        return Image.fromarray(((planes.transpose(1, 2, 0) + 1) * 127.5).clip(0, 255).astype(np.uint8))


def schedule(steps: int) -> np.ndarray:
    """Shifted times from 1 (noise) to 0, [steps + 1]."""
    u = 1 - np.arange(steps + 1) / steps
    return SHIFT * u / (1 + (SHIFT - 1) * u)


def contact_sheet(pictures, columns: int, height: int) -> Image.Image:
    """Pictures of any shape in cells as wide as the widest, on grey."""
    small = [p.resize((round(height * p.width / p.height), height), Image.Resampling.LANCZOS) for p in pictures]
    width = max(p.width for p in small)
    sheet = Image.new("RGB", (columns * width, -(-len(small) // columns) * height), (128, 128, 128))
    for index, tile in enumerate(small):
        left = index % columns * width + (width - tile.width) // 2
        sheet.paste(tile, (left, index // columns * height))
    return sheet


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("prompt")
    parser.add_argument("--out", default="picture.png")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--size", type=int, nargs=2, default=(1024, 1024), metavar=("HEIGHT", "WIDTH"))
    options = parser.parse_args()
    sampler, size = Sampler(), tuple(options.size)
    sampler.picture(sampler.latents(options.prompt, size, options.seed), size).save(options.out)


if __name__ == "__main__":
    main()

"""Runs the exported graphs from prompt to frames, and writes a contact sheet.

python -m train.sample "a red boat sails across the ocean at sunset" --out boat.png
"""

import argparse
import pathlib

import numpy as np
import onnxruntime
from PIL import Image

from . import shapes
from .manifest import IMAGE_CONDITIONING, SAMPLER, WINDOW_FRAMES
from .tokenizer import tokenize

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

    def latents(self, prompt, seconds=4, seed=1, negative_prompt="", picture_tokens=None):
        """Guided flow sampling: [1, 13 + T, 64]. picture_tokens [1, 7, 64] or None."""
        length = shapes.STILL_COUNT + shapes.LATENTS_PER_SECOND * seconds
        slots = np.concatenate([self.slots(prompt), self.slots(negative_prompt)])
        noise = np.random.default_rng(seed).standard_normal((1, length, shapes.CHANNELS)).astype(np.float32)
        sample, times = noise, schedule()
        for index, (time, following) in enumerate(zip(times, times[1:])):
            feeds = {
                "sample": np.repeat(sample, 2, 0),
                "timestep": np.full(2, time, np.float32),
                "encoder_hidden_states": slots,
            }
            wanted, unwanted = self.run("denoiser", feeds)[0]
            fraction = 1 if index else SAMPLER["firstStepGuidanceFraction"]
            guidance = 1 + (SAMPLER["guidance"] - 1) * fraction
            velocity = unwanted + guidance * (wanted - unwanted)
            sample = sample + np.float32(following - time) * velocity[None]
            if picture_tokens is not None:
                sample = pull_to_picture(sample, noise, picture_tokens, following)
        return sample

    def clip(self, latents, size, picture=None):
        """Everything that the frame decoder takes but "size" and what differs from frame to frame, and
        what does."""
        height, width = size
        drift = IMAGE_CONDITIONING["drift"] if picture is not None else 0.0
        feeds = {"latents": latents, "drift": np.array([drift], np.float32)}
        names = ("sprite", "transforms", "sprite_weights", "cameras", "shadow_transforms", "shadow_strengths")
        scene = dict(zip(names, self.run("scene-decoder", feeds)))
        rows, columns = canvas_size(scene["cameras"], height, width)
        period = round(shapes.TILE_PERIOD * height)
        luma, chroma, bands, tile, looks = self.run(
            "canvas-decoder",
            {
                "latents": latents,
                "rows": ((np.arange(rows) + 0.5) / rows).astype(np.float32),
                "columns": ((np.arange(columns) + 0.5) / columns * shapes.ASPECT).astype(np.float32),
                "tile_rows": ((np.arange(height + period) + 0.5) / height).astype(np.float32),
                "tile_columns": ((np.arange(width + period) + 0.5) / height).astype(np.float32),
            },
        )
        if picture is not None:
            fitted = picture.resize((columns, rows), Image.Resampling.BICUBIC)
            pixels = np.ascontiguousarray(np.asarray(fitted).transpose(2, 0, 1)[None])
            luma, chroma = self.run("picture-canvas", {"picture": pixels})
        count = len(scene["transforms"])
        fixed = {"luma": luma, "chroma": chroma, "band_0": bands[0], "band_1": bands[1]}
        fixed |= {"tile": tile, "looks": looks, "sprite": scene.pop("sprite")}
        scene["shifts"] = shifts(looks, count, rows, columns, period, height)
        return fixed, scene

    def frames(self, latents, size=(720, 1280), picture=None, only=None):
        """-> uint8 [F, 1.5 H, W] I420; only: indices of the frames wanted."""
        fixed, moving = self.clip(latents, size, picture)
        count = len(moving["transforms"])
        wanted = list(range(count)) if only is None else list(only)
        made = []
        for start in range(0, len(wanted), WINDOW_FRAMES):
            rows = wanted[start : start + WINDOW_FRAMES]
            feeds = {name: value[rows] for name, value in moving.items()}
            feeds |= fixed | {"size": np.array(size, np.int64)}
            made.append(self.run("frame-decoder", feeds)[0])
        return np.concatenate(made)


def schedule() -> np.ndarray:
    """Shifted times from 1 (noise) to 0, [steps + 1]."""
    steps, shift = SAMPLER["steps"], SAMPLER["shift"]
    u = 1 - np.arange(steps + 1) / steps
    return shift * u / (1 + (shift - 1) * u)


def canvas_size(cameras, height, width):
    """Rows and columns of a canvas as fine as the closest camera sees it; even."""
    zoom = float(cameras[:, 2].max())
    return 2 * round(height * zoom / 2), 2 * round(width * zoom / 2)


def shifts(looks, count, rows, columns, period, height):
    """Whole pixels by which bands (on the canvas) and tile (in the frame) have moved: [F, 4] int64, even."""
    seconds = np.arange(count, dtype=np.float64) / shapes.FRAME_RATE
    result = np.zeros((count, 4), np.int64)
    for index in range(2):
        result[:, index] = even(-looks[index, 0] * seconds * rows) % columns
    result[:, 2] = even(-looks[2, 1] * seconds * height) % period
    result[:, 3] = even(-looks[2, 0] * seconds * height) % period
    return result


def even(values):
    """The nearest even numbers."""
    return 2 * np.floor(values / 2 + 0.5).astype(np.int64)


def pull_to_picture(sample, noise, tokens, time):
    """Draws the canvas tokens towards the picture's, noised to the present time."""
    canvas = slice(0, shapes.CANVAS_TOKENS)
    target = (1 - time) * tokens + time * noise[:, canvas]
    pulled = sample.copy()
    pulled[:, canvas] += IMAGE_CONDITIONING["pull"] * (target - sample[:, canvas])
    return pulled.astype(np.float32)


def rgb(frame: np.ndarray) -> np.ndarray:
    """One I420 frame [1.5 H, W] -> uint8 [H, W, 3]."""
    height, width = frame.shape[0] * 2 // 3, frame.shape[1]
    luma = frame[:height].astype(np.float32)
    u, v = frame[height:].reshape(2, height // 2, width // 2).astype(np.float32)
    u, v = (np.repeat(np.repeat(item, 2, 0), 2, 1) - 128 for item in (u, v))
    y = (luma - 16) / 219
    red, blue = y + 1.5748 * v / 224, y + 1.8556 * u / 224
    green = (y - 0.2126 * red - 0.0722 * blue) / 0.7152
    return (np.stack([red, green, blue], -1).clip(0, 1) * 255 + 0.5).astype(np.uint8)


def contact_sheet(frames, columns: int = 3, width: int = 640) -> Image.Image:
    """Frames (I420) as one picture."""
    tiles = [Image.fromarray(rgb(frame)) for frame in frames]
    height = round(width * tiles[0].height / tiles[0].width)
    sheet = Image.new("RGB", (columns * width, -(-len(tiles) // columns) * height))
    for index, tile in enumerate(tiles):
        place = (index % columns * width, index // columns * height)
        sheet.paste(tile.resize((width, height), Image.Resampling.BOX), place)
    return sheet


def load_picture(path: str, size) -> Image.Image:
    """Reads a picture and crops it to the shape of the output."""
    height, width = size
    picture = Image.open(path).convert("RGB")
    scale = max(width / picture.width, height / picture.height)
    picture = picture.resize((round(picture.width * scale), round(picture.height * scale)))
    left, top = (picture.width - width) // 2, (picture.height - height) // 2
    return picture.crop((left, top, left + width, top + height))


def small_pixels(picture: Image.Image) -> np.ndarray:
    """Input of the image encoder: [1, 3, 90, 160] in -1..1."""
    small = np.asarray(picture.resize((160, 90), Image.Resampling.BOX), np.float32)
    return np.ascontiguousarray(small.transpose(2, 0, 1)[None] / 127.5 - 1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("prompt")
    parser.add_argument("--out", default="sheet.png")
    parser.add_argument("--seconds", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--negative-prompt", default="")
    parser.add_argument("--height", type=int, default=720)
    parser.add_argument("--picture")
    options = parser.parse_args()
    size = (options.height, options.height * 16 // 9)
    sampler = Sampler()
    picture = tokens = None
    if options.picture:
        picture = load_picture(options.picture, size)
        tokens = sampler.run("image-encoder", {"pixels": small_pixels(picture)})[0]
    latents = sampler.latents(options.prompt, options.seconds, options.seed, options.negative_prompt, tokens)
    count = options.seconds * shapes.FRAME_RATE
    chosen = np.linspace(0, count - 1, 6).round().astype(int)
    contact_sheet(sampler.frames(latents, size, picture, chosen)).save(options.out)


if __name__ == "__main__":
    main()

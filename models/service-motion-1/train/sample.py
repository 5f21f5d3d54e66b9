"""Runs the exported graphs from prompt to frames, and writes a contact sheet.

python -m train.sample "a red boat sails across the ocean at sunset" --out boat.png
"""

import argparse
import pathlib

import numpy as np
import onnxruntime
from PIL import Image

from . import shapes
from .manifest import IMAGE_CONDITIONING, SAMPLER, WINDOW_FRAMES, WINDOW_START
from .tokenizer import tokenize

PACKAGE = pathlib.Path(__file__).resolve().parent.parent


class Sampler:
    """The graphs of a package and the loop around them."""

    def __init__(self, package: pathlib.Path = PACKAGE, threads: int = 2):
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
        """Guided flow sampling: [1, T, 62, 64]. picture_tokens [1, 60, 64] or None."""
        length = 2 * seconds
        slots = np.concatenate([self.slots(prompt), self.slots(negative_prompt)])
        noise = np.random.default_rng(seed).standard_normal((1, length, shapes.TOKENS, shapes.CHANNELS))
        noise = noise.astype(np.float32)
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

    def frames(self, latents, size=(720, 1280), picture=None):
        """-> uint8 [F, 1.5 H, W] I420. picture uint8 [1, 3, H, W] or None."""
        return np.concatenate(list(self.windows(latents, size, picture)))

    def windows(self, latents, size, picture=None):
        """Yields the frames of one window after the other."""
        keyframes, sprite, transforms, weights = self.run("scene-decoder", {"latents": latents})
        count = len(transforms)
        details = picture_weights(count)
        for start, end in frame_windows(count):
            first, blend = keyframe_blend(start, end, len(keyframes))
            feeds = {
                "keyframes": keyframes[first : first + blend.shape[1]],
                "sprite": sprite,
                "transforms": transforms[start:end],
                "sprite_weights": weights[start:end],
                "keyframe_weights": blend,
                "size": np.array(size, np.int64),
            }
            name = "frame-decoder"
            if picture is not None:
                name = "frame-decoder-picture"
                feeds |= {"picture": picture, "picture_weights": details[start:end]}
            yield self.run(name, feeds)[0]


def schedule() -> np.ndarray:
    """Shifted times from 1 (noise) to 0, [steps + 1]."""
    steps, shift = SAMPLER["steps"], SAMPLER["shift"]
    u = 1 - np.arange(steps + 1) / steps
    return shift * u / (1 + (shift - 1) * u)


def frame_windows(count: int) -> list[tuple[int, int]]:
    """Start and end of each window; the first is one frame longer."""
    starts = [0, *range(WINDOW_START + WINDOW_FRAMES, count, WINDOW_FRAMES)]
    return list(zip(starts, [*starts[1:], count]))


def keyframe_blend(start: int, end: int, keyframe_count: int):
    """-> index of the first key frame a window needs, and weights [N, K] float32."""
    place = np.clip((np.arange(start, end) - 1) / 3, 0, keyframe_count - 1)
    first, last = int(np.floor(place[0])), int(np.ceil(place[-1]))
    distance = np.abs(place[:, None] - np.arange(first, last + 1)[None])
    return first, np.maximum(0, 1 - distance).astype(np.float32)


def pull_to_picture(sample, noise, tokens, time):
    """Draws background tokens towards the picture noised to the present time."""
    length = sample.shape[1]
    pull = IMAGE_CONDITIONING
    share = np.linspace(pull["pullFrom"], pull["pullTo"], length, dtype=np.float32)
    share[0] = pull["firstPull"]
    share = share[None, :, None, None]
    background = slice(0, shapes.BACKGROUND_TOKENS)
    target = (1 - time) * tokens[:, None] + time * noise[:, :, background]
    pulled = sample.copy()
    pulled[:, :, background] += share * (target - sample[:, :, background])
    return pulled.astype(np.float32)


def picture_weights(count: int) -> np.ndarray:
    """Share of the picture's fine detail in each frame, [F]."""
    detail = IMAGE_CONDITIONING
    return np.linspace(detail["detailFrom"], detail["detailTo"], count, dtype=np.float32)


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


def contact_sheet(frames: np.ndarray, columns: int = 3, count: int = 6, width: int = 640) -> Image.Image:
    """Evenly spaced frames as one picture."""
    chosen = np.linspace(0, len(frames) - 1, count).round().astype(int)
    tiles = [Image.fromarray(rgb(frames[index])) for index in chosen]
    height = round(width * tiles[0].height / tiles[0].width)
    sheet = Image.new("RGB", (columns * width, -(-count // columns) * height))
    for index, tile in enumerate(tiles):
        place = (index % columns * width, index // columns * height)
        sheet.paste(tile.resize((width, height), Image.Resampling.BOX), place)
    return sheet


def load_picture(path: str, size) -> np.ndarray:
    """Reads and crops a picture to the output size: uint8 [1, 3, H, W]."""
    height, width = size
    picture = Image.open(path).convert("RGB")
    scale = max(width / picture.width, height / picture.height)
    picture = picture.resize((round(picture.width * scale), round(picture.height * scale)))
    left, top = (picture.width - width) // 2, (picture.height - height) // 2
    picture = picture.crop((left, top, left + width, top + height))
    return np.ascontiguousarray(np.asarray(picture).transpose(2, 0, 1)[None])


def small_pixels(picture: np.ndarray) -> np.ndarray:
    """Input of the image encoder: area average to 90x160, edge rows repeated to 96, in -1..1."""
    _, _, height, width = picture.shape
    block = width // shapes.FRAME_WIDTH
    blocks = picture.reshape(1, 3, height // block, block, shapes.FRAME_WIDTH, block)
    small = blocks.astype(np.float32).mean((3, 5)) / 127.5 - 1
    return np.pad(small, ((0, 0), (0, 0), (3, 3), (0, 0)), "edge").astype(np.float32)


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
    contact_sheet(sampler.frames(latents, size, picture)).save(options.out)


if __name__ == "__main__":
    main()

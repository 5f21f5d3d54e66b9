"""Draws what the model hears in a held-out clip: its mel spectrogram with phones and silence below.

python -m train.picture
"""

import json
import pathlib

import numpy as np
import onnxruntime
from PIL import Image, ImageDraw

from .manifest import FILES
from .mel import features_of
from .phones import PHONES, SILENCE
from .utterance import decode

PACKAGE = pathlib.Path(__file__).resolve().parent.parent
NAMES = [SILENCE, *PHONES]
STEP_WIDTH, BAND_HEIGHT, TEXT_HEIGHT = 9, 3, 22


def main():
    case = json.loads((PACKAGE / "evaluation" / "cases.jsonl").read_text().splitlines()[0])
    features = features_of(decode((PACKAGE / "evaluation" / case["file"]).read_bytes(), "ogg"))
    session = onnxruntime.InferenceSession(PACKAGE / FILES["acoustic-model"], providers=["CPUExecutionProvider"])
    states = session.run(["states"], {"features": features[None]})[0][0].argmax(-1)
    draw(features, states, case["text"]).save(PACKAGE / "heard.webp", quality=70)


def draw(features: np.ndarray, states: np.ndarray, text: str) -> Image.Image:
    """Spectrogram, the phone of each stretch, and what was said."""
    low, high = features.min(), features.max()
    grey = ((features[::-1] - low) / (high - low) * 255).astype(np.uint8)
    width, height = len(states) * STEP_WIDTH, len(features) * BAND_HEIGHT
    picture = Image.new("L", (width, height + 2 * TEXT_HEIGHT), 255)
    picture.paste(Image.fromarray(255 - grey).resize((width, height)), (0, 0))
    pen = ImageDraw.Draw(picture)
    starts = [at for at, phone in enumerate(states) if at == 0 or states[at - 1] != phone]
    for start in starts:
        if states[start] != 0:
            pen.text((start * STEP_WIDTH + 1, height + 5), NAMES[states[start]], fill=0)
        pen.line((start * STEP_WIDTH, height, start * STEP_WIDTH, height + 6), fill=0)
    pen.text((4, height + TEXT_HEIGHT + 4), text, fill=0)
    return picture


if __name__ == "__main__":
    main()

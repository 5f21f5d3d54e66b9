"""The card's picture: one sentence in all voices as spectrograms.

python -m train.picture
"""

import numpy as np
import onnxruntime
from PIL import Image, ImageDraw

from .teachers import VOICES
from .manifest import FILES
from .speak import PACKAGE, ends_trimmed, feed_of
from .vocoder import RATE

TEXT = "The lantern on the porch flickered all night."
WIDTH, ROW = 960, 200
SECONDS = 3.2
RANGE_DB = 70
COLOURS = np.array([[9, 10, 32], [60, 22, 110], [170, 50, 110], [245, 130, 60], [252, 245, 190]], float)


def spectrogram(sound: np.ndarray) -> np.ndarray:
    """Level [128 bands from 8 kHz down, WIDTH] in 0..1, black 70 dB below the loudest."""
    starts = np.linspace(0, SECONDS * RATE, WIDTH).astype(int)
    padded = np.pad(sound, (256, int(SECONDS * RATE)))
    pieces = np.stack([padded[start : start + 512] for start in starts]) * np.hanning(512)
    level = 20 * np.log10(np.abs(np.fft.rfft(pieces))[:, 1:257] + 1e-6)
    bands = level.reshape(WIDTH, 128, 2).max(2).T[::-1]
    return np.clip((bands - bands.max()) / RANGE_DB + 1, 0, 1)


def coloured(levels: np.ndarray) -> Image.Image:
    """A row of the picture."""
    place = levels * (len(COLOURS) - 1)
    low = np.minimum(place.astype(int), len(COLOURS) - 2)
    share = (place - low)[..., None]
    pixels = COLOURS[low] * (1 - share) + COLOURS[low + 1] * share
    return Image.fromarray(pixels.astype(np.uint8)).resize((WIDTH, ROW), Image.Resampling.BICUBIC)


def main():
    session = onnxruntime.InferenceSession(str(PACKAGE / FILES["model"]))
    sheet = Image.new("RGB", (WIDTH, ROW * len(VOICES)))
    for number, voice in enumerate(VOICES):
        sound = ends_trimmed(session.run(None, feed_of(TEXT, number))[0].reshape(-1))
        sheet.paste(coloured(spectrogram(sound)), (0, ROW * number))
        ImageDraw.Draw(sheet).text((8, ROW * number + 6), voice, fill=(255, 255, 255), font_size=18)
    sheet.save(PACKAGE / "spectrogram.webp", quality=70)


if __name__ == "__main__":
    main()

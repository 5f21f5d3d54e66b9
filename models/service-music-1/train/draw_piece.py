"""Draws the card's picture: the spectrogram of a finished piece, dark to bright over 70 dB.

python -m train.draw_piece piece.wav
"""

import pathlib
import sys
import wave

import numpy as np
from PIL import Image, ImageDraw

FRAME, WIDTH, HEIGHT = 4096, 1000, 320
LOWEST_HZ, HIGHEST_HZ, RANGE_DB = 50.0, 10_000.0, 70.0


def main() -> None:
    """Writes sample.webp into the package."""
    package = pathlib.Path(__file__).resolve().parent.parent
    rate, sound = read_wave(pathlib.Path(sys.argv[1]))
    picture = colour(spectrogram(sound, rate))
    draw = ImageDraw.Draw(picture)
    for hertz in (100, 400, 1600, 6400):
        y = HEIGHT - 1 - HEIGHT * np.log(hertz / LOWEST_HZ) / np.log(HIGHEST_HZ / LOWEST_HZ)
        draw.text((4, y - 6), f"{hertz} Hz", fill=(200, 200, 200))
    for second in range(0, int(len(sound) / rate), 2):
        draw.text((second * rate / len(sound) * WIDTH + 2, HEIGHT - 12), f"{second} s", fill=(200, 200, 200))
    picture.save(package / "sample.webp", quality=60)


def read_wave(path: pathlib.Path) -> tuple[int, np.ndarray]:
    """Rate and the mean of the channels of a 16-bit file."""
    with wave.open(str(path)) as file:
        values = np.frombuffer(file.readframes(file.getnframes()), np.int16)
        return file.getframerate(), values.reshape(-1, file.getnchannels()).mean(1) / 32768


def spectrogram(sound: np.ndarray, rate: int) -> np.ndarray:
    """[320, 1000] in 0..1, low frequencies at the bottom."""
    starts = np.linspace(0, len(sound) - FRAME, WIDTH).astype(int)
    frames = np.stack([sound[start : start + FRAME] for start in starts]) * np.hanning(FRAME)
    power = np.abs(np.fft.rfft(frames)) ** 2
    hertz = LOWEST_HZ * (HIGHEST_HZ / LOWEST_HZ) ** (np.arange(HEIGHT) / HEIGHT)
    rows = np.stack([np.interp(hertz, np.fft.rfftfreq(FRAME, 1 / rate), line) for line in power], 1)
    decibel = 10 * np.log10(rows + 1e-12)
    return np.clip((decibel - decibel.max() + RANGE_DB) / RANGE_DB, 0, 1)[::-1]


def colour(values: np.ndarray) -> Image.Image:
    """Black over violet and orange to pale yellow."""
    stops = np.array([[5, 5, 20], [70, 20, 110], [200, 70, 70], [250, 180, 60], [255, 250, 210]], float)
    place = values * (len(stops) - 1)
    pixels = np.stack([np.interp(place, np.arange(len(stops)), stops[:, channel]) for channel in range(3)], 2)
    return Image.fromarray(pixels.astype(np.uint8))


if __name__ == "__main__":
    main()

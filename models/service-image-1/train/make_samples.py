"""Writes samples.webp: twelve prompts that no training saw, through the exported graphs.

python -m train.make_samples
"""

import argparse

from .export import PACKAGE
from .sample import Sampler, contact_sheet

PROMPTS = [
    ("a small red boat on the ocean at sunset", 1),
    ("a big brown house in a snowy field at night, snow falling", 1),
    ("a yellow hot air balloon over the mountains at dawn", 1),
    ("a purple fish under the sea", 1),
    ("a huge white rocket in outer space", 0),
    ("a green car on a city street at night", 1),
    ("an orange cat in the meadow at noon", 0),
    ("a blue butterfly in the forest on a foggy morning", 0),
    ("a pink kite above the beach in daylight", 1),
    ("a black bird above the clouds at dusk", 1),
    ("a tiny red ball in the desert at midday", 1),
    ("an emerald tree in the rain, green hills", 0),
]
"""Prompt, and whether it is 3:2; else square."""
TILE_HEIGHT = 200


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", default=str(PACKAGE / "samples.webp"))
    parser.add_argument("--seed", type=int, default=3)
    options = parser.parse_args()
    sampler, pictures = Sampler(), []
    for number, (prompt, is_wide) in enumerate(PROMPTS):
        size = (1024, 1536) if is_wide else (1024, 1024)
        pictures.append(sampler.picture(sampler.latents(prompt, size, options.seed + number), size))
    contact_sheet(pictures, 4, TILE_HEIGHT).save(options.out, quality=82, method=6)


if __name__ == "__main__":
    main()

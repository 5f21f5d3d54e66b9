"""The whole recipe, from nothing to the package. Resumable: parts that exist are kept.

python -m train.run --size cpu --folder build
"""

import argparse
import pathlib

import torch

from .export import export_package
from .language_model import write_language_model
from .make_speech import make_speech
from .spellings import make_spellings
from .train_reader import train_reader
from .train_speaker import train_speaker

PACKAGE = pathlib.Path(__file__).resolve().parent.parent
SIZES = {
    "cpu": {
        "sentences": 4500,
        "words": 90000,
        "reader_width": 224,
        "reader_epochs": 4,
        "speaker_width": 192,
        "speaker_epochs": 4,
    },
    "gpu": {
        "sentences": 9000,
        "words": 100000,
        "reader_width": 256,
        "reader_epochs": 8,
        "speaker_width": 320,
        "speaker_epochs": 16,
    },
}
"""Sentences of each voice; single words; widths; passes over the data."""
STEPS = ("speech", "spellings", "reader", "speaker", "export")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", choices=SIZES, default="cpu")
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("build"))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--only", choices=STEPS, help="one step of the recipe")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    options.folder.mkdir(parents=True, exist_ok=True)
    for step in STEPS if options.only is None else (options.only,):
        run_step(step, options.folder, SIZES[options.size])


def run_step(step: str, folder: pathlib.Path, size: dict) -> None:
    """One step; what it needs lies in the folder."""
    if step == "speech":
        make_speech(folder, size["sentences"])
    elif step == "spellings":
        make_spellings(folder, size["words"])
    elif step == "reader":
        train_reader(folder, size["reader_epochs"], size["reader_width"])
    elif step == "speaker":
        train_speaker(folder, size["speaker_epochs"], size["speaker_width"])
    else:
        export_package(folder, PACKAGE, size)
        write_language_model(PACKAGE / "evaluation")


if __name__ == "__main__":
    main()

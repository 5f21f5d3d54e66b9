"""The whole recipe, from nothing to the package. Resumable: parts that exist are kept.

python -m train.run --size cpu --folder build
"""

import argparse
import pathlib

import torch

from .export import export_package
from .make_corpus import make_corpus
from .make_evaluation import make_evaluation
from .recorded_corpus import add_recordings
from .train_acoustic import load_acoustic, train_acoustic

SIZES = {
    "cpu": {"minutes": 1.0, "steps": 7000},
    "gpu": {"minutes": 8.0, "steps": 60000},
}
"""The corpus' length over that of make_corpus.MINUTES; steps of the acoustic model."""
ALIGNER_STEPS = 1400


def train(folder: pathlib.Path, steps: int, size: str) -> None:
    """A small model of synthetic voices says when each phone of the recordings sounds; the model learns both."""
    train_acoustic(folder, ALIGNER_STEPS, "aligner")
    add_recordings(folder, load_acoustic(folder, "aligner"))
    train_acoustic(folder, steps, size)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", choices=SIZES, default="cpu")
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("build"))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--steps", type=int, help="of the acoustic model, instead of the size's own")
    parser.add_argument("--only", choices=("corpus", "train", "export", "evaluation"))
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    options.folder.mkdir(parents=True, exist_ok=True)
    size = SIZES[options.size]
    steps = {
        "corpus": lambda: make_corpus(options.folder, size["minutes"]),
        "train": lambda: train(options.folder, options.steps or size["steps"], options.size),
        "export": lambda: export_package(options.folder, options.size),
        "evaluation": make_evaluation,
    }
    for name, step in steps.items():
        if options.only in (None, name):
            step()


if __name__ == "__main__":
    main()

"""The whole recipe, from nothing to the package. Resumable: parts that exist are kept.

python -m train.run --size cpu --folder build
"""

import argparse
import pathlib

import torch

from .export import export_package
from .make_corpus import make_corpus
from .make_evaluation import make_evaluation
from .train_acoustic import train_acoustic

SIZES = {
    "cpu": {"minutes": 1.0, "steps": 6000},
    "gpu": {"minutes": 8.0, "steps": 60000},
}
"""The corpus' length over that of make_corpus.MINUTES; steps of the acoustic model."""


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
        "train": lambda: train_acoustic(options.folder, options.steps or size["steps"], options.size),
        "export": lambda: export_package(options.folder, options.size),
        "evaluation": make_evaluation,
    }
    for name, step in steps.items():
        if options.only in (None, name):
            step()


if __name__ == "__main__":
    main()

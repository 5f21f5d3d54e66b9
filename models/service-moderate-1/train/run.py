"""The whole recipe, from templates and WordNet to the package. Resumable: parts that exist are kept.

python -m train.run --size cpu --folder build
"""

import argparse
import pathlib

import torch

from .corpus import make_sentences
from .export import export_package
from .sizes import SIZES, Size
from .train_judge import train_judges
from .vocabulary import make_vocabulary


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", choices=SIZES, default="cpu")
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("build"))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--only", choices=("train", "export"))
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    options.folder.mkdir(parents=True, exist_ok=True)
    if options.only != "export":
        train_parts(options.folder, SIZES[options.size])
    if options.only != "train":
        export_package(options.folder, SIZES[options.size], pathlib.Path(__file__).resolve().parent.parent)


def train_parts(folder: pathlib.Path, size: Size) -> None:
    """Everything before the export, in order."""
    if not (folder / "table.npy").exists():
        make_vocabulary(folder, size.width)
    if not (folder / "sentences.pt").exists():
        make_sentences(folder, size.sentences)
    train_judges(folder, size)


if __name__ == "__main__":
    main()

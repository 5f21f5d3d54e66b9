"""The whole recipe, from WordNet and Debian's texts to the package. Resumable: parts that exist are kept.

python -m train.run --size cpu --folder build
"""

import argparse
import pathlib

import torch
from training_kit.everyday import everyday_sentences
from training_kit.families import held_out, split_families
from training_kit.knowledge import Knowledge
from training_kit.word_vectors import fit_word_vectors
from training_kit.wordnet import read_synsets

from .corpus import make_pairs, make_tokenizer
from .export import export_package
from .sizes import SIZES, Size
from .train_embedder import train_embedder


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
    synsets = read_synsets()
    hidden = held_out(split_families(synsets))
    parts = ("tokenizer.json", "pairs.pt", "table.npy")
    if not all((folder / part).exists() for part in parts):
        knowledge = Knowledge(folder / "debian", [synsets[key] for key in hidden])
        make_tokenizer(folder, everyday_sentences(), knowledge)
        make_pairs(folder, size.rounds, knowledge)
        fit_word_vectors(folder, size.width, hidden, knowledge)
    if not (folder / "encoder.pt").exists():
        train_embedder(folder, size)


if __name__ == "__main__":
    main()

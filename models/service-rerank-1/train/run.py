"""The whole recipe, from WordNet to the package. Resumable: parts that exist are kept.

python -m train.run --size cpu --folder build

The table of token vectors comes from the recipe of service-embed-1, which runs first where its build
folder (`--embedder`, `embedder` in the build folder when left out) has none.
"""

import argparse
import pathlib
import subprocess
import sys

import torch

from .export import export_package
from .groups import make_groups
from .sizes import SIZES, Size
from .train_scorer import train_scorer

PACKAGE = pathlib.Path(__file__).resolve().parent.parent


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", choices=SIZES, default="cpu")
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("build"))
    parser.add_argument("--embedder", type=pathlib.Path)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--only", choices=("train", "export"))
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    embedder = (options.embedder or options.folder / "embedder").resolve()
    options.folder.mkdir(parents=True, exist_ok=True)
    if options.only != "export":
        train_parts(options.folder, embedder, SIZES[options.size], options.size)
    if options.only != "train":
        export_package(options.folder, embedder, SIZES[options.size], PACKAGE)


def train_parts(folder: pathlib.Path, embedder: pathlib.Path, size: Size, name: str) -> None:
    """Everything before the export, in order."""
    if not (embedder / "words-0.pt").exists():
        recipe = [sys.executable, "-m", "train.run", "--only", "train", "--size", name, "--folder", str(embedder)]
        subprocess.run(recipe, cwd=PACKAGE.parent / "service-embed-1", check=True)
    if not (folder / "groups.pt").exists():
        make_groups(folder, embedder, size.groups)
    if not (folder / "scorer.pt").exists():
        train_scorer(folder, embedder, size)


if __name__ == "__main__":
    main()

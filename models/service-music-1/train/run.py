"""The whole recipe, from nothing to the package. Resumable: parts that exist are kept.

python -m train.run --size cpu --folder build
"""

import argparse
import dataclasses
import pathlib

import torch

from .make_pieces import make_pieces
from .sizes import SIZES, Size
from .train_choosers import train_arranger, train_composer, train_planner
from .train_prompt_reader import train_prompt_reader

PARTS = ("prompt", "pieces", "timbres", "choosers", "composer", "probe", "export")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", choices=SIZES, default="cpu")
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("build"))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--only", choices=PARTS, nargs="*", default=PARTS)
    parser.add_argument("--more", type=float, default=1.0, help="factor of all steps: goes on from the steady phase")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    options.folder.mkdir(parents=True, exist_ok=True)
    run_parts(options.folder, scaled(SIZES[options.size], options.more), set(options.only))


def scaled(size: Size, factor: float) -> Size:
    """The size with its steps multiplied."""
    steps = {name: round(value * factor) for name, value in dataclasses.asdict(size).items() if name.endswith("steps")}
    return dataclasses.replace(size, **steps)


def run_parts(folder: pathlib.Path, size: Size, parts: set[str]) -> None:
    """The chosen parts, in order."""
    package = pathlib.Path(__file__).resolve().parent.parent
    if "prompt" in parts:
        train_prompt_reader(folder, size.prompt_steps)
    if "pieces" in parts:
        make_pieces(folder, size.pieces)
    if "timbres" in parts:
        from .train_timbres import train_timbres

        train_timbres(folder, size.timbre_steps)
    if "choosers" in parts:
        train_arranger(folder, size.arranger_steps)
        train_planner(folder, size.planner_steps)
    if "composer" in parts:
        train_composer(folder, size)
    if "probe" in parts:
        from .train_probe import train_probe

        train_probe(folder, size)
    if "export" in parts:
        from .export import export_package

        export_package(folder, size, package)


if __name__ == "__main__":
    main()

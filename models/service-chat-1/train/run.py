"""The whole recipe, from sentences of code to the package. Resumable: a killed training goes on.

python -m train.run --size cpu --folder build
"""

import argparse
import dataclasses
import pathlib

import torch

from .export import export_package
from .model import Block
from .sizes import SIZES
from .train_chat import finish_chat, rank, train_chat, wait_for_all
from .vocabulary import make_tokenizer


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", choices=SIZES, default="cpu")
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("build"))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--compile", action="store_true", help="compile the blocks: faster, wants a C++ compiler")
    parser.add_argument("--steps", type=int, help="steps at the steady rate, in all; the size's when left out")
    parser.add_argument("--decay", type=int, help="steps of the fall; the size's when left out")
    parser.add_argument("--only", choices=("train", "finish", "export"), help="one part of the recipe")
    parser.add_argument("--package", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent.parent)
    parser.add_argument(
        "--begin-from", type=pathlib.Path, help="a package whose weights are trained further, where training.pt is gone"
    )
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    if options.compile:
        Block.read_whole = torch.compile(Block.read_whole, dynamic=True)
    if torch.distributed.is_torchelastic_launched():
        torch.distributed.init_process_group("gloo")
    options.folder.mkdir(parents=True, exist_ok=True)
    size = SIZES[options.size]
    if options.decay is not None:
        size = dataclasses.replace(size, decay=options.decay)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    tokenizer = options.folder / "tokenizer.json"
    if rank() == 0 and not tokenizer.exists():
        if options.begin_from:
            tokenizer.write_bytes((options.begin_from / "tokenizer.json").read_bytes())
        else:
            make_tokenizer(tokenizer, size.vocabulary)
    wait_for_all()
    if options.only in (None, "train"):
        train_chat(options.folder, size, options.steps or size.steps, device, options.begin_from)
    if options.only in (None, "finish"):
        finish_chat(options.folder, size, device)
    if rank() == 0 and options.only in (None, "export"):
        export_package(options.folder, size, options.package)


if __name__ == "__main__":
    main()

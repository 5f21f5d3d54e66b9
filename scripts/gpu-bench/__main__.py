"""Benchmarks a machine with an NVIDIA GPU: `pack` where there is a network, `unpack` and `run` where the GPU is."""

import argparse
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
"""The repository, or the kit that this was packed into."""
HERE = pathlib.Path(__file__).resolve().parents[1]


def main() -> int:
    parser = argparse.ArgumentParser(prog="gpu-bench", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    pack = commands.add_parser("pack", help="collect what the GPU's machine needs into files of bounded size")
    pack.add_argument("--out", type=pathlib.Path, default=pathlib.Path("gpu-bench-kit"))
    pack.add_argument("--part-mib", type=int, default=48, help="largest file")
    pack.add_argument("--architectures", nargs="*", default=["90"], help="of the CUDA code to keep; none: all")
    pack.add_argument("--without", nargs="*", default=[], choices=["cuda", "vulkan", "ffmpeg", "models"])
    unpack = commands.add_parser("unpack", help="put a packed kit together")
    unpack.add_argument("parts", type=pathlib.Path, nargs="+", help="the kit.tar.xz.* files")
    unpack.add_argument("--into", type=pathlib.Path, required=True)
    run = commands.add_parser("run", help="measure, and write results.json and results.md")
    run.add_argument("parts", nargs="*", help="some of the parts; all where left out")
    run.add_argument("--out", type=pathlib.Path, default=pathlib.Path("gpu-bench-results"))
    run.add_argument("--minutes", type=float, default=9.5, help="at most, for everything")
    part = commands.add_parser("part", help="one part, as run calls it")
    part.add_argument("name")
    part.add_argument("--found", type=pathlib.Path, required=True)
    part.add_argument("--scratch", type=pathlib.Path, required=True)
    part.add_argument("--seconds", type=float, required=True)
    for command in (run, part):
        command.add_argument("--kit", type=pathlib.Path, default=home(), help="an unpacked kit, or a built checkout")
        command.add_argument("--providers", nargs="+", default=["cuda", "webgpu"])
        command.add_argument("--tiny", action="store_true", help="small shapes in float32: proves the script on a CPU")
        command.add_argument("--node", help="a Node binary instead of the kit's")
        command.add_argument("--cuda-libs", type=pathlib.Path, action="append", default=[], help="more library folders")
    return dispatch(parser.parse_args())


def home() -> pathlib.Path:
    """A kit has this folder at its top, a checkout below scripts/."""
    return HERE if (HERE / "app").is_dir() else ROOT


def dispatch(options: argparse.Namespace) -> int:
    # Imported where needed: packing needs nothing but the standard library.
    if options.command == "pack":
        from pack import pack

        return pack(options, ROOT)
    if options.command == "unpack":
        from archive import unpack

        return unpack(options.parts, options.into)
    from run import run, run_one

    return run(options) if options.command == "run" else run_one(options)


sys.exit(main())

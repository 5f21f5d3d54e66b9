"""One xz archive in files of bounded size, and back."""

import contextlib
import io
import lzma
import pathlib
import shutil
import subprocess
import tarfile

MEBIBYTE = 2**20
XZ_PRESET = "-2"
"""Half of what travels is compressed device code: more effort gains little there."""


def write_parts(folder: pathlib.Path, out: pathlib.Path, part_mib: int) -> list[pathlib.Path]:
    """kit.tar.xz.000 and on; earlier ones are removed first."""
    out.mkdir(parents=True, exist_ok=True)
    for old in out.glob("kit.tar.xz.*"):
        old.unlink()
    whole = out / "kit.tar.xz"
    with whole.open("wb") as target:
        tar = subprocess.Popen(["tar", "-C", str(folder), "-cf", "-", "."], stdout=subprocess.PIPE)
        subprocess.run(["xz", "-T0", XZ_PRESET], stdin=tar.stdout, stdout=target, check=True)
        if tar.wait() != 0:
            raise SystemExit("tar could not read the folder of the kit")
    parts = []
    with whole.open("rb") as source:
        while piece := source.read(part_mib * MEBIBYTE):
            parts.append(out / f"kit.tar.xz.{len(parts):03}")
            parts[-1].write_bytes(piece)
    whole.unlink()
    return parts


def unpack(parts: list[pathlib.Path], into: pathlib.Path) -> int:
    """Parts are put in the order of their names. Throws where one is missing or damaged."""
    into.mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as stack:
        files = [stack.enter_context(part.open("rb")) for part in sorted(parts, key=lambda it: it.name)]
        with lzma.open(Joined(files)) as plain, tarfile.open(fileobj=plain, mode="r|") as archive:
            archive.extractall(into, filter="tar")
    print(f"unpacked {len(files)} parts into {into}: python3 {into}/gpu-bench run")
    return 0


class Joined(io.RawIOBase):
    """Files read as one."""

    def __init__(self, files: list) -> None:
        self.files = list(files)

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        while self.files:
            if piece := self.files[0].read(size):
                return piece
            self.files.pop(0)
        return b""


def folder_mib(folder: pathlib.Path) -> float:
    return sum(file.lstat().st_size for file in folder.rglob("*") if file.is_file()) / MEBIBYTE


def copy(source: pathlib.Path, target: pathlib.Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    else:
        shutil.copy2(source, target)

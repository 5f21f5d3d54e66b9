"""Where Node, the program, its tools and its libraries are: in a packed kit, or in this repository."""

import glob
import importlib.util
import json
import os
import pathlib
import shutil
from dataclasses import dataclass

RUNTIME = "dist/node_modules/onnxruntime-node"
BINDING = f"{RUNTIME}/bin/napi-v6/linux/x64"
PROVIDERS = ("libonnxruntime_providers_shared.so", "libonnxruntime_providers_cuda.so")
VULKAN_DRIVERS = ("/etc/vulkan/icd.d", "/usr/share/vulkan/icd.d", "/usr/local/nvidia/share/vulkan/icd.d")


@dataclass(frozen=True)
class Kit:
    app: pathlib.Path
    node: str
    environment: dict[str, str]

    @property
    def framemill(self) -> list[str]:
        return [self.node, str(self.app / "dist/bin/framemill.js")]

    def runtime_version(self) -> str:
        return json.loads((self.app / RUNTIME / "package.json").read_text())["version"]


def open_kit(folder: pathlib.Path, node: str | None, cuda_libs: list[pathlib.Path]) -> Kit:
    """A packed kit has `app`, `node`, `lib` and `tools`; a checkout is used as it is."""
    app = folder / "app" if (folder / "app").is_dir() else folder
    if not (app / "dist/bin/framemill.js").is_file():
        raise SystemExit(f"{app} holds no compiled program: run `npm run build`, or give --kit")
    for library in cuda_libs:
        link_providers(library, app / BINDING)
    libraries = [*map(str, cuda_libs), *nvidia_folders(), str(folder / "lib")]
    environment = dict(os.environ)
    environment["LD_LIBRARY_PATH"] = ":".join(filter(None, [*libraries, environment.get("LD_LIBRARY_PATH", "")]))
    environment["PATH"] = f"{folder / 'tools'}:{environment['PATH']}"
    environment.setdefault("XDG_RUNTIME_DIR", "/tmp")
    if "VK_DRIVER_FILES" not in environment and (drivers := vulkan_drivers()):
        environment["VK_DRIVER_FILES"] = ":".join(drivers)
    found = node or find_node(folder)
    return Kit(app, found, environment)


def find_node(folder: pathlib.Path) -> str:
    carried = folder / "node/bin/node"
    found = str(carried) if carried.is_file() else shutil.which("node")
    if found is None:
        raise SystemExit("there is no Node here: pack a kit with one, or give --node")
    return found


def link_providers(source: pathlib.Path, binding: pathlib.Path) -> None:
    """ONNX Runtime looks for its providers beside its own library."""
    for name in PROVIDERS:
        if (source / name).is_file() and not (binding / name).exists():
            (binding / name).symlink_to((source / name).resolve())


def nvidia_folders() -> list[str]:
    """Libraries of CUDA and cuDNN that came with Python packages, and the toolkit's."""
    found: list[str] = []
    spec = importlib.util.find_spec("nvidia")
    for place in spec.submodule_search_locations or () if spec else ():
        found += sorted(glob.glob(f"{place}/*/lib"))
    return [*found, *sorted(glob.glob("/usr/local/cuda*/lib64"))]


def vulkan_drivers() -> list[str]:
    """NVIDIA's own driver files, which the loader does not find where they lie outside its folders."""
    return [file for place in VULKAN_DRIVERS for file in sorted(glob.glob(f"{place}/nvidia*.json"))][:1]

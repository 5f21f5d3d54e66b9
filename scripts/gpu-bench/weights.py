"""Random weights of a seed, made once: ONNX Runtime and torch read the same file."""

import concurrent.futures
import mmap
import os
import pathlib
import zlib

import numpy as np

ALIGNMENT = 4096
ITEM_BYTES = {"float32": 4, "float16": 2, "bfloat16": 2}


def place_weights(
    weights: dict[str, tuple[tuple[int, ...], float]], element: str
) -> tuple[dict[str, tuple[int, int]], int]:
    """Offset and length of each weight, and of the whole file."""
    offsets, end = {}, 0
    for name, (shape, _) in weights.items():
        length = int(np.prod(shape)) * ITEM_BYTES[element]
        offsets[name] = (end, length)
        end += -(-length // ALIGNMENT) * ALIGNMENT
    return offsets, end


def write_weights(
    path: pathlib.Path, weights: dict[str, tuple[tuple[int, ...], float]], element: str
) -> dict[str, tuple[int, int]]:
    """Normal values, each weight with the seed of its own name: any order and any number of threads give the same."""
    offsets, size = place_weights(weights, element)
    with path.open("wb") as file:
        file.truncate(size)
        descriptor = file.fileno()

        def write(name: str) -> None:
            shape, spread = weights[name]
            generator = np.random.Generator(np.random.SFC64(zlib.crc32(name.encode())))
            values = generator.standard_normal(shape, np.float32) * np.float32(spread)
            os.pwrite(descriptor, encode(values, element), offsets[name][0])

        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(write, weights))
    return offsets


def encode(values: np.ndarray, element: str) -> bytes:
    if element != "bfloat16":
        return values.astype(element).tobytes()
    bits = values.astype(np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16).tobytes()


def read_weights(path: pathlib.Path, weights: dict[str, tuple[tuple[int, ...], float]], element: str, device: str):
    """Name to torch tensor on the device."""
    import torch

    offsets, _ = place_weights(weights, element)
    with path.open("r+b") as file:
        whole = torch.frombuffer(mmap.mmap(file.fileno(), 0), dtype=torch.uint8)
    found = {}
    for name, (shape, _) in weights.items():
        offset, length = offsets[name]
        found[name] = whole[offset : offset + length].view(getattr(torch, element)).reshape(shape).to(device)
    return found

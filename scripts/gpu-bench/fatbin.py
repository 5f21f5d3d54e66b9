"""
Empties the code of GPU architectures that the target does not have, in place: the library keeps its layout, and packs
to a fraction. Headers stay, so the CUDA runtime finds what is left and refuses the rest.
"""

import mmap
import pathlib
import struct

CONTAINER_MAGIC = b"\x50\xed\x55\xba"
"""0xBA55ED50, as `fatbinary` of the CUDA toolkit writes it: magic, version 1, header of 16 bytes, length of entries."""
CONTAINER = struct.Struct("<IHHQ")
ENTRY = struct.Struct("<HHIQ12xI")
"""Kind, version, header length, payload length, and at byte 28 the architecture."""


def keep_architectures(library: pathlib.Path, kept: set[int]) -> tuple[int, int]:
    """Bytes of device code that stay and that were emptied. Throws ValueError where none of it is for `kept`."""
    with library.open("r+b") as file, mmap.mmap(file.fileno(), 0) as image:
        entries = list(find_entries(image))
        stay = sum(length for architecture, _, length in entries if architecture in kept)
        if stay == 0:
            found = sorted({architecture for architecture, _, _ in entries})
            raise ValueError(f"{library.name} has code for {found}, not for {sorted(kept)}")
        emptied = 0
        for architecture, start, length in entries:
            if architecture not in kept:
                image[start : start + length] = bytes(length)
                emptied += length
    return stay, emptied


def find_entries(image: mmap.mmap):
    """Architecture, start and length of each payload."""
    at = image.find(CONTAINER_MAGIC)
    while at != -1:
        _, version, header, length = CONTAINER.unpack_from(image, at)
        end = at + header + length
        if version != 1 or header != CONTAINER.size or end > len(image):
            at = image.find(CONTAINER_MAGIC, at + 4)
            continue
        entry = at + header
        while entry < end:
            _, _, entry_header, payload, architecture = ENTRY.unpack_from(image, entry)
            yield architecture, entry + entry_header, payload
            entry += entry_header + payload
        at = image.find(CONTAINER_MAGIC, end)

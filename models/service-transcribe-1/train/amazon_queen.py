"""What is said in Flight of the Amazon Queen: texts and sounds of the game's archive."""

import collections
import struct
from collections.abc import Iterator

from .texts import UNPACKED

ARCHIVE = UNPACKED / "usr/share/scummvm/flight-of-the-amazon-queen/queen.1c"
SOUND_FORM = "mp3"
HEADER = 20
"""Bytes before the data of texts."""
REMARKS, VERBS = 40, 12


def lines() -> Iterator[tuple[str, bytes]]:
    """Each line that is spoken, and its sound, whose name says where the text stands."""
    archive = read_archive()
    texts = spoken_texts(archive)
    for name in sorted(archive):
        if len(texts[name]) == 1:
            yield min(texts[name]), archive[name]


def read_archive() -> dict[str, bytes]:
    """Files by name: after 13 bytes a count, then name, bundle, offset and length of each."""
    data = ARCHIVE.read_bytes()
    (count,) = struct.unpack_from(">H", data, 13)
    rows = [struct.unpack_from(">12sBII", data, 15 + 21 * at) for at in range(count)]
    return {name.split(b"\0")[0].decode("ascii"): data[at : at + size] for name, _, at, size in rows}


def spoken_texts(archive: dict[str, bytes]) -> dict[str, set[str]]:
    """Name of a sound -> what is said in it.

    `KKHHHHJn` and `KKHHHHPn` are piece n of line HHHH of dialogue KK (J what the hero says, P the others), `KKSSSSJn`
    and `KKXXXX.n` its greetings; `CCCCCIIn` stands in record II of scene C; `JOENNNNn` is remark NNNN.
    """
    texts: dict[str, set[str]] = collections.defaultdict(set)

    def add(prefix: str, line: str) -> None:
        for at, text in pieces(line):
            texts[f"{prefix.replace(' ', '0').upper()}{at:X}.SB"].add(text)

    for name, data in archive.items():
        if name.endswith(".DOG"):
            read_dialogue(data[HEADER:], add)
        elif name.endswith(".CUT"):
            read_scene(name[:-4].ljust(5, "_"), data[HEADER:], add)
    rooms, names, _, descriptions = struct.unpack_from(">4H", archive["QUEEN.JAS"], HEADER)
    lines = [line.decode("cp437").rstrip("\r") for line in archive["QUEEN2.JAS"].split(b"\n")]
    first = descriptions + names + rooms + VERBS
    for at, line in enumerate([*lines[first : first + REMARKS], *lines[:descriptions]], 1):
        add(f"JOE{at:04d}", line)
    return texts


def pieces(line: str) -> list[tuple[int, str]]:
    """A line is cut at its stage directions `*XX`; the parts that are spoken, with their numbers."""
    found, start, at, number = [], 0, 0, 1
    while at < len(line):
        if line[at] != "*":
            at += 1
            continue
        direction = line[at + 1 : at + 3]
        if direction not in ("GD", "GM"):
            found.append((number, line[start:at]))
        at += 14 if direction == "XY" else 3
        number += 1
        start = at
    return [(place, text.strip()) for place, text in [*found, (number, line[start:])] if text.strip()]


def number_at(data: bytes, offset: int) -> int:
    return struct.unpack_from(">h", data, offset)[0]


def string_at(data: bytes, offset: int, align: int = 2) -> tuple[str, int]:
    """A text behind its length, and where the next thing stands."""
    end = offset + 1 + data[offset]
    text = data[offset + 1 : end].decode("cp437")
    return text, (end + align - 1) & -align if text else end


def read_dialogue(data: bytes, add) -> None:
    levels, key, joes, others = abs(number_at(data, 0)), number_at(data, 4), number_at(data, 6), number_at(data, 8)
    joe_at = 32 + levels * 96
    for offset, count, who in ((joe_at, joes, "J"), (number_at(data, 22), others, "P")):
        seen = {0}
        for _ in range(count):
            head = number_at(data, offset + 2)
            text, offset = string_at(data, offset + 4, 4)
            if head > 0 and head not in seen:
                add(f"{key:2d}{head:4x}{who}", text)
            seen.add(head)
    if not number_at(data, joe_at + 2):
        add(f"{key:2d}SSSSJ", string_at(data, joe_at + 4)[0])
    other, offset = string_at(data, number_at(data, 26))
    add(f"{key:2d}XXXXP", other)
    add(f"{key:2d}XXXXJ", string_at(data, offset)[0])


def read_scene(prefix: str, data: bytes, add) -> None:
    _, offset = string_at(data, number_at(data, 8))
    for at in range(abs(number_at(data, 2))):
        line, offset = string_at(data, offset)
        if line != "*" and not line.startswith("#"):
            add(f"{prefix}{at + 1:02d}", line)

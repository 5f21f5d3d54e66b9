"""What is said in Beneath a Steel Sky: texts and sounds of the game's archive.

`sky.dnr` lists the files of `sky.dsk`; files 60600 to 60606 are sections of text, and line n of a section is spoken in a
file whose number is the section's first plus n. Most files are packed by RNC's first method.
"""

import re
import struct
from collections.abc import Iterator

from .texts import UNPACKED

ARCHIVE = UNPACKED / "usr/share/scummvm/beneath-a-steel-sky"
PROGRAM = UNPACKED / "usr/games/scummvm"
"""Has the code of the texts, which the game's files do not."""
TEXTS = 60600
SECTIONS = (50000, 50600, 51100, 52430, 53380, 54530, 55080)
"""File of the sound of each section's first line."""
HEADER = 22
SOUND_FORM, SOUND_RATE_HZ = "u8", 11025
COMMON = set("a the you i to it of is that and in this what have on be for".split())
Tree = list[tuple[int, int, int]]
"""Left node, right node, letter; a leaf has neither."""


def lines() -> Iterator[tuple[str, bytes]]:
    """Each line that is spoken, and the file of its sound, as it lies in the archive."""
    files = read_archive()
    trees = code_trees(PROGRAM.read_bytes())
    for number, first in enumerate(SECTIONS):
        section = unpacked(files[TEXTS + number])
        begin, end = struct.unpack_from("<2H", section)
        texts = max(([read_line(section, at, tree) for at in range(end - begin)] for tree in trees), key=readable)
        for at, text in enumerate(texts):
            if first + at in files:
                yield text, files[first + at]


def sound_of(data: bytes) -> bytes:
    """Samples, as `SOUND_FORM` says."""
    return unpacked(data) if is_packed(data) else data[HEADER:]


def read_archive() -> dict[int, bytes]:
    """Files by number: two bytes of it, three of where it lies, three of its length and flags."""
    table, data = (ARCHIVE / "sky.dnr").read_bytes(), (ARCHIVE / "sky.dsk").read_bytes()
    files = {}
    for at in range(4, 4 + 8 * struct.unpack_from("<I", table)[0], 8):
        number, begin, length = (int.from_bytes(table[at + a : at + b], "little") for a, b in ((0, 2), (2, 5), (5, 8)))
        if begin >> 23:
            begin = (begin & 0x7FFFFF) << 4
        files[number] = data[begin : begin + (length & 0x3FFFFF)]
    return files


def is_packed(data: bytes) -> bool:
    return data[HEADER : HEADER + 3] == b"RNC"


def unpacked(data: bytes) -> bytes:
    return unpack(data[HEADER:]) if is_packed(data) else data


class Bits:
    """Bits of little-endian words, the lowest first, and whole bytes between them."""

    def __init__(self, data: bytes, at: int):
        self.data, self.at, self.bits, self.count = data, at, 0, 0

    def show(self, count: int) -> int:
        while self.count < count:
            self.bits |= int.from_bytes(self.data[self.at : self.at + 2], "little") << self.count
            self.at += 2
            self.count += 16
        return self.bits & ((1 << count) - 1)

    def take(self, count: int) -> int:
        value = self.show(count)
        self.bits >>= count
        self.count -= count
        return value

    def copy(self, count: int) -> bytes:
        """Bytes stand behind the words that were begun."""
        self.at -= 2 * (self.count // 16)
        self.count %= 16
        self.bits &= (1 << self.count) - 1
        self.at += count
        return self.data[self.at - count : self.at]


def code(bits: Bits) -> dict[tuple[int, int], int]:
    """(length, bits as they are read) -> symbol, of the canonical code whose lengths come next."""
    lengths = [bits.take(4) for _ in range(bits.take(5))]
    table, value = {}, 0
    for length in range(1, 16):
        for symbol, own in enumerate(lengths):
            if own == length:
                table[length, int(format(value >> (16 - length), f"0{length}b")[::-1], 2)] = symbol
                value += 1 << (16 - length)
    return table


def decoded(bits: Bits, table: dict[tuple[int, int], int]) -> int:
    for length in range(1, 16):
        symbol = table.get((length, bits.show(length)))
        if symbol is not None:
            bits.take(length)
            return symbol if symbol < 2 else 1 << (symbol - 1) | bits.take(symbol - 1)
    raise ValueError("RNC: no such code")


def unpack(data: bytes) -> bytes:
    """RNC's first method: literals and copies of what came before, in blocks with codes of their own."""
    size, blocks = int.from_bytes(data[4:8], "big"), data[17]
    bits, out = Bits(data, 18), bytearray()
    bits.take(2)
    for _ in range(blocks):
        literals, offsets, counts = code(bits), code(bits), code(bits)
        for left in range(bits.take(16), 0, -1):
            out += bits.copy(decoded(bits, literals))
            if left > 1:
                back = decoded(bits, offsets) + 1
                for _ in range(decoded(bits, counts) + 2):
                    out.append(out[-back])
    if len(out) != size:
        raise ValueError(f"RNC: {len(out)} bytes where {size} were announced")
    return bytes(out)


def code_trees(program: bytes) -> list[Tree]:
    """The trees of letters in the program, parents before their children."""
    found = []
    for match in re.finditer(rb"\x01[\x10-\x20]\x00\x02[\x05-\x0c]\x00\x03", program):
        nodes: Tree = []
        at, expected = match.start(), 1
        while len(nodes) < expected < 256:
            left, right, letter = program[at : at + 3]
            nodes.append((left, right, letter))
            expected = max(expected, left + 1, right + 1)
            at += 3
        if len(nodes) == expected > 100 and 2 * sum(node[:2] == (0, 0) for node in nodes) == expected + 1:
            found.append(nodes)
    return found


def read_line(section: bytes, number: int, tree: Tree) -> str:
    """Lengths of blocks of 32 lines and of lines count in units of two bits."""
    lengths, texts = struct.unpack_from("<2H", section)
    block, line = divmod(number, 32)
    offset = sum(struct.unpack_from(f"<{block}H", section, 4))
    for length in section[lengths + 32 * block : lengths + 32 * block + line]:
        offset += (length & 0x7F) << 3 if length & 0x80 else length
    at, letters = 8 * texts + 2 * offset, []
    while True:
        left, right, letter = tree[0]
        while left or right:
            if at >> 3 >= len(section):
                return ""
            left, right, letter = tree[right if section[at >> 3] >> (7 - (at & 7)) & 1 else left]
            at += 1
        if not letter:
            return "".join(letters)
        letters.append(chr(letter))


def readable(texts: list[str]) -> float:
    """Share of very common words: high only with the right tree."""
    words = re.findall(r"[a-z']+", " ".join(texts).lower())
    return sum(word in COMMON for word in words) / max(1, len(words))

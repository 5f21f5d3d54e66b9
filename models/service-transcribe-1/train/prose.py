"""English prose of Debian's packages, for counting words only: tales, a Bible in today's English, essays, a dictionary."""

import gzip
import html
import os
import pathlib
import re
import subprocess

from . import texts

ROOT = pathlib.Path(os.environ.get("TEXT_ROOT", "/"))
"""Where the packages of Wesnoth's campaigns were unpacked; only their texts are wanted."""
CAMPAIGNS = ROOT / "usr/share/games/wesnoth/1.16/data/campaigns"
DICTIONARY = pathlib.Path("/usr/share/dictd/gcide.dict.dz")
ESSAYS = pathlib.Path("/usr/share/doc/anarchism/markdown")
BIBLE = "engWEB2015eb"
SENTENCE_END = re.compile(r"[.!?;:()\"]+|--|\s-\s|\*")
PLAIN = re.compile(r"[A-Za-z][A-Za-z' ,-]*[A-Za-z]")


def prose() -> dict[str, list[str]]:
    """Sentences of each source; none where its package is missing."""
    return {name: source() for name, source in (("tales", tales), ("bible", bible), ("essays", essays), ("dictionary", dictionary))}


def tales() -> list[str]:
    """What people say in Wesnoth's campaigns, and what is told between."""
    spoken = []
    for path in sorted(CAMPAIGNS.rglob("*.cfg")):
        text = path.read_text("utf8", "replace")
        spoken += re.findall(r'(?:message|story|description)\s*=\s*_\s*"([^"]*)"', text)
    return sentences(re.sub(r"<[^>]*>", "", "\n\n".join(spoken)))


def bible() -> list[str]:
    """The World English Bible."""
    command = ["diatheke", "-b", BIBLE, "-f", "plain", "-k", "Genesis 1:1-Revelation 22:21"]
    try:
        read = subprocess.run(command, capture_output=True, check=False).stdout.decode("utf8", "replace")
    except FileNotFoundError:
        return []
    return sentences(re.sub(r"(?m)^[A-Z][A-Za-z ]* \d+:\d+: ?", "", read))


def essays() -> list[str]:
    """The answers of a long list of questions."""
    if not ESSAYS.exists():
        return []
    read = (gzip.decompress(path.read_bytes()).decode("utf8", "replace") for path in sorted(ESSAYS.glob("*.md.gz")))
    return sentences(re.sub(r"\[[^\]]*\]\([^)]*\)|\[[^\]]*\]", "", "\n\n".join(read)))


def dictionary() -> list[str]:
    """Definitions and quotations of the Collaborative International Dictionary."""
    if not DICTIONARY.exists():
        return []
    text = gzip.decompress(DICTIONARY.read_bytes()).decode("utf8", "replace")
    text = re.sub(r"\[[^\]]*\]|--[A-Z][^\n]*|\\[^\\]*\\", " ", text)
    return sentences(re.sub(r"[{}]", "", text))


def sentences(text: str) -> list[str]:
    """Runs of plain words between marks; paragraphs end where a line is empty."""
    text = html.unescape(text).replace("’", "'").replace("‘", "'").replace("“", '"').replace("”", '"').replace("—", "--")
    found = []
    for paragraph in re.split(r"\n\s*\n", text):
        for part in SENTENCE_END.split(" ".join(paragraph.split())):
            plain = part.strip(" ,'_-")
            if PLAIN.fullmatch(plain) and len(texts.words_of(plain)) >= 3:
                found.append(plain.replace("-", " "))
    return found

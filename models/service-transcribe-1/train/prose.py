"""English prose of Debian's packages and npm's, for counting words only."""

import gzip
import html
import pathlib
import re
import subprocess

from . import amazon_queen, steel_sky, texts

CAMPAIGNS = texts.UNPACKED / "usr/share/games/wesnoth/1.16/data/campaigns"
VOYAGES = texts.UNPACKED / "usr/share/games/endless-sky/data"
BOOKS = [texts.UNPACKED / name / "data" for name in ("datasets-moby-dick", "datasets-sotu")]
DICTIONARY = pathlib.Path("/usr/share/dictd/gcide.dict.dz")
ESSAYS = pathlib.Path("/usr/share/doc/anarchism/markdown")
BIBLE = "engWEB2015eb"
SENTENCE_END = re.compile(r"[.!?;:()\"]+|--|\s-\s|\*")
PLAIN = re.compile(r"[A-Za-z][A-Za-z' ,-]*[A-Za-z]")


def prose() -> dict[str, list[str]]:
    """Sentences of each source. Raises where its package is missing."""
    sources = (tales, voyages, dialogue, books, bible, essays, dictionary)
    found = {source.__name__: source() for source in sources}
    if missing := [name for name, read in found.items() if not read]:
        raise SystemExit(f"no {', '.join(missing)}: train/README.md lists the packages")
    return found


def tales() -> list[str]:
    """What people say in Wesnoth's campaigns, and what is told between."""
    spoken = []
    for path in sorted(CAMPAIGNS.rglob("*.cfg")):
        text = path.read_text("utf8", "replace")
        spoken += re.findall(r'(?:message|story|description)\s*=\s*_\s*"([^"]*)"', text)
    return sentences(re.sub(r"<[^>]*>", "", "\n\n".join(spoken)))


def voyages() -> list[str]:
    """What people say in Endless Sky."""
    read = "\n\n".join(path.read_text("utf8") for path in sorted(VOYAGES.glob("*.txt")))
    return sentences("\n\n".join(re.findall(r"`([^`]*)`", read)))


def dialogue() -> list[str]:
    """What is said in the games whose players the acoustic model hears."""
    return sentences("\n\n".join(text for game in (amazon_queen, steel_sky) for text, _ in game.lines()))


def books() -> list[str]:
    """Moby-Dick, and the messages of the presidents of the United States."""
    return sentences("\n\n".join(path.read_text("utf8") for folder in BOOKS for path in sorted(folder.glob("*.txt"))))


def bible() -> list[str]:
    """The World English Bible."""
    command = ["diatheke", "-b", BIBLE, "-f", "plain", "-k", "Genesis 1:1-Revelation 22:21"]
    read = subprocess.run(command, capture_output=True, check=True).stdout.decode("utf8", "replace")
    return sentences(re.sub(r"(?m)^[A-Z][A-Za-z ]* \d+:\d+: ?", "", read))


def essays() -> list[str]:
    """The answers of a long list of questions."""
    read = (gzip.decompress(path.read_bytes()).decode("utf8", "replace") for path in sorted(ESSAYS.glob("*.md.gz")))
    return sentences(re.sub(r"\[[^\]]*\]\([^)]*\)|\[[^\]]*\]", "", "\n\n".join(read)))


def dictionary() -> list[str]:
    """Definitions and quotations of the Collaborative International Dictionary."""
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

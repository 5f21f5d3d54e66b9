"""Free English texts of Debian's packages: two dictionaries, manuals, answers to common questions, descriptions."""

import gzip
import html
import pathlib
import re
import subprocess
from collections.abc import Iterator

PACKAGES = (
    "trans-de-en", "dict-gcide", "anarchism", "debian-faq", "debian-handbook", "debian-reference-en", "fortunes",
    "gnome-user-docs", "gnucash-docs", "harden-doc", "libreoffice-help-en-us", "perl-doc",
)
MANUALS = (
    "usr/share/doc/anarchism/html/*.html", "usr/share/doc/debian/FAQ/*.en.html",
    "usr/share/doc/debian-handbook/html/en-US/*.html", "usr/share/debian-reference/*.en.html",
    "usr/share/help/C/**/*.page", "usr/share/doc/gnucash-docs/gnucash-guide-en/*.html",
    "usr/share/doc/harden-doc/html/en-US/*.html", "usr/share/libreoffice/help/en-US/text/**/*.html",
    "usr/share/perl/*/pod/perlfaq*.pod",
)  # fmt: skip
LEAST_WORDS, MOST_WORDS = 8, 60
"""Words of a passage."""

BRACKETED = re.compile(r"\{[^}]*\}|\[[^\]]*\]|\([^)]*\)|<[^>]*>")
SHORT_FORMS = {"sb.": "somebody", "sth.": "something", "sb.’s": "somebody's", "sth.’s": "something's"}


def fetch_packages(folder: pathlib.Path) -> pathlib.Path:
    """Unpacks the packages, without installing them, and apt's descriptions in English; the root of the files."""
    root, archives, lists = folder / "root", folder / "archives", folder / "lists"
    if (root / "descriptions").exists():
        return root
    archives.mkdir(parents=True, exist_ok=True)
    (lists / "partial").mkdir(parents=True, exist_ok=True)
    options = ["-o", f"Dir::State::lists={lists.resolve()}", "-o", "Acquire::Languages=en"]
    subprocess.run(["apt-get", *options, "update", "-qq"], check=True)
    subprocess.run(["apt-get", *options, "download", "-qq", *PACKAGES], cwd=archives, check=True)
    for archive in sorted(archives.glob("*.deb")):
        subprocess.run(["dpkg-deb", "-x", str(archive), str(root)], check=True)
    listed = [str(path) for path in sorted(lists.glob("*_main_i18n_Translation-en*"))]
    text = subprocess.run(["/usr/lib/apt/apt-helper", "cat-file", *listed], check=True, capture_output=True)
    (root / "descriptions").write_bytes(text.stdout)
    return root


def translations(root: pathlib.Path) -> Iterator[tuple[str, list[str]]]:
    """(what is translated, English words and phrases for it) of the Ding dictionary; sentences among them."""
    for line in (root / "usr/share/trans/de-en").read_text(encoding="utf-8").splitlines():
        german, found, english = line.partition("::")
        if not found or line.startswith("#"):
            continue
        for left, right in zip(german.split("|"), english.split("|"), strict=False):
            phrases = [plain_phrase(part) for part in right.split(";")]
            yield plain_phrase(left.split(";")[0]), list(dict.fromkeys(phrase for phrase in phrases if phrase))


def plain_phrase(text: str) -> str:
    """Without marks and remarks; of words joined by a slash the first."""
    words = BRACKETED.sub(" ", text).replace("’", "'").split()
    plain = " ".join(SHORT_FORMS.get(word, word.split("/")[0] or word) for word in words)
    return plain.removeprefix("to ").strip(" ,…")


def definitions(root: pathlib.Path) -> Iterator[tuple[str, str, list[str]]]:
    """(headword, definition, synonyms) of the GCIDE, less what it took from WordNet."""
    path = root / "usr/share/dictd/gcide.dict.dz"
    text = gzip.decompress(path.read_bytes()).decode(errors="replace")
    word = ""
    for block in text.split("\n\n"):
        lines = block.strip("\n").split("\n")
        if lines[0][:1].strip() and (head := re.match(r"([A-Za-z][\w' -]*?) \\", lines[0])):
            word, lines = head[1].lower(), lines[1:]
        body = " ".join(line.strip() for line in lines)
        if not word or "[WordNet" in body or (lines and lines[0].startswith("            ")):
            continue
        yield from senses_of(word, body)


def senses_of(word: str, body: str) -> Iterator[tuple[str, str, list[str]]]:
    """A paragraph below a headword; a phrase in braces at its beginning is a headword of its own."""
    if body.startswith("Syn:"):
        yield word, "", [name.strip(" {}.").lower() for name in re.split("[;,]", body[4:].split("[")[0])]
        return
    if phrase := re.match(r"\{([^}]*)\}(?: \([^)]*\))?, (.*)", body):
        word, body = phrase[1].lower(), phrase[2]
    body = re.sub(r"\[[^\]]*\]|--[A-Z][\w. ]*|\"[^\"]*\"|^\d+\. |^\([a-z]\) |\([A-Z][a-z.& ]*\)|[{}]", "", body)
    body = " ".join(body.split()).strip(" ;.")
    if 3 <= len(body.split()) <= MOST_WORDS and not body.startswith(("See ", "Same as ")):
        yield word, body, []


def descriptions(root: pathlib.Path) -> Iterator[tuple[str, str]]:
    """(what a package is in a line, first paragraph about it), of one package where several are alike."""
    seen = set()
    for entry in (root / "descriptions").read_text(encoding="utf-8").split("\n\n"):
        _, found, text = entry.partition("Description-en: ")
        synopsis, _, body = text.partition("\n")
        paragraph = " ".join(body.split("\n .")[0].split())
        alike = (re.split(r"[-–(:]", synopsis)[0].strip().lower(), paragraph[:60])
        if found and len(paragraph.split()) >= LEAST_WORDS and not seen.intersection(alike):
            seen.update(alike)
            yield synopsis, shortened(paragraph)


def sections(root: pathlib.Path) -> Iterator[tuple[str, str, list[str]]]:
    """(file, heading, its paragraphs) of the manuals and of the answers to common questions."""
    for pattern in MANUALS:
        for path in sorted(root.glob(pattern)):
            read = pod_sections if path.suffix == ".pod" else markup_sections
            for heading, paragraphs in read(path.read_text(encoding="utf-8", errors="replace")):
                kept = [shortened(text) for text in paragraphs if len(text.split()) >= LEAST_WORDS]
                if kept and 1 < len(heading.split()) < 20:
                    yield str(path.relative_to(root)), heading, kept


def markup_sections(text: str) -> Iterator[tuple[str, list[str]]]:
    """Headings or titles of HTML and Mallard, and the paragraphs below each."""
    text = re.sub(r"(?s)<(script|style|info|pre|nav|header)\b.*?</\1>", " ", text.partition("<body")[2] or text)
    parts = re.split(r"(?s)<(h[1-5]|title)\b[^>]*>(.*?)</\1>", text)
    for heading, body in zip(parts[2::3], parts[3::3], strict=True):
        paragraphs = re.findall(r"(?s)<p\b[^>]*>(.*?)</(?:p|li|div)>", body)
        heading = re.sub(r"^[A-Z]?[\d.]+\s+|^(Chapter|Appendix) \S+ ", "", bare(heading))
        yield heading, [bare(paragraph) for paragraph in paragraphs]


def pod_sections(text: str) -> Iterator[tuple[str, list[str]]]:
    """Questions of the perlfaq and the paragraphs of their answers."""
    for part in re.split(r"\n=head2 ", text)[1:]:
        heading, *paragraphs = part.partition("\n=")[0].split("\n\n")
        plain = [re.sub(r"[A-Z]<+ ?([^<>]*?) ?>+", r"\1", " ".join(each.split())) for each in (heading, *paragraphs)]
        yield plain[0], [each for each, raw in zip(plain[1:], paragraphs, strict=True) if raw[:1].strip()]


def sayings(root: pathlib.Path) -> Iterator[str]:
    """The sayings and jokes of fortunes."""
    for path in sorted((root / "usr/share/games/fortunes").glob("*.u8")):
        yield from (" ".join(text.split()) for text in path.resolve().read_text(encoding="utf-8").split("\n%\n"))


def bare(text: str) -> str:
    """Text without tags, in one line."""
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", text)).split())


def shortened(text: str) -> str:
    """At most MOST_WORDS words."""
    return " ".join(text.split()[:MOST_WORDS])

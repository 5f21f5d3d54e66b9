"""Writes measured numbers into a package's evaluation.json and into the table of its card.

framemill models evaluate ID --json | python -m training_kit.state_numbers ../ID
"""

import json
import pathlib
import sys

from .package import write_json

HEAD = "| measure | number | bar |\n|---|---|---|\n"


def main() -> None:
    package = pathlib.Path(sys.argv[1])
    path = package / "evaluation" / "evaluation.json"
    stated = json.loads(path.read_text())
    text = sys.stdin.read()
    for row in json.loads(text[text.index("[") :]):
        finding = row["finding"]
        stated["metrics"][finding["name"]]["card"] = finding["measured"]
    write_json(path, stated)
    card = package / "README.md"
    before, _, behind = card.read_text().partition(HEAD)
    rest = behind.partition("\n\n")[2]
    card.write_text(before + HEAD + "\n".join(map(line, stated["metrics"].values())) + "\n\n" + rest)


def line(metric: dict) -> str:
    """One row of the card's table."""
    sign = "at least" if metric["better"] == "higher" else "at most"
    bar = f"{sign} {metric['target']}" if "target" in metric else ""
    return f"| {metric['about']} | {metric['card']:.3f} | {bar} |"


if __name__ == "__main__":
    main()

"""Writes measured numbers into evaluation/evaluation.json.

framemill models evaluate service-music-1 --json | python -m train.state_numbers
"""

import json
import pathlib
import sys


def main() -> None:
    """Reads the table from standard input."""
    path = pathlib.Path(__file__).resolve().parent.parent / "evaluation" / "evaluation.json"
    stated, text = json.loads(path.read_text()), sys.stdin.read()
    for row in json.loads(text[text.index("[") :]):
        finding = row["finding"]
        stated["metrics"][finding["name"]]["card"] = finding["measured"]
    path.write_text(json.dumps(stated, indent=2, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()

"""Writes what the evaluation measured into evaluation.json and into the card's table.

npm run -s framemill -- models evaluate service-transcribe-1 --json > build/measures.json
python -m train.card --measures build/measures.json
"""

import argparse
import json
import pathlib
import re

PACKAGE = pathlib.Path(__file__).resolve().parent.parent
HELD_OUT = "training never heard the voices, the sentences or the templates"
METRICS = {
    "word_error": (0.10, 0.01, 0.8, f"word error on 60 clips of two kinds of synthetic voice; {HELD_OUT}"),
    "word_error_natural": (None, 0.015, 0.8, "of these, 30 by flite's rms, a recorded speaker's voice"),
    "word_error_formant": (None, 0.015, 0.8, "of these, 30 by eight variants of espeak-ng"),
    "word_error_long": (None, 0.02, 0.8, "14 sentences by flite's rms in a row, cut at pauses by the model itself"),
    "word_error_real": (0.35, 0.03, 0.8, "12 recordings of people in Debian's pocketsphinx-testdata: a LibriVox reader, cards, commands"),
    "word_error_starter": (None, 0.015, 0.8, "30 other sentences spoken by service-voice-1, in its three voices"),
    "word_time_error_seconds": (None, 0.01, None, "mean distance of a heard word's beginning from the synthesiser's own"),
    "invented_words": (None, 2, None, "words heard in six sounds without speech: hiss, rumble, tone, hum, clicks, nothing"),
}  # fmt: skip
"""Name -> bar, slack, what noise must reach, meaning."""
MARKS = ("<!-- numbers -->\n", "<!-- /numbers -->")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--measures", type=pathlib.Path, help="without it the numbers stay as they are")
    options = parser.parse_args()
    path = PACKAGE / "evaluation" / "evaluation.json"
    stated = json.loads(path.read_text())["metrics"] if path.exists() else {}
    measured = {name: metric["card"] for name, metric in stated.items()}
    if options.measures:
        findings = [row["finding"] for row in json.loads(options.measures.read_text())]
        measured |= {finding["name"]: finding["measured"] for finding in findings}
    path.write_text(json.dumps({"metrics": {name: describe(name, measured) for name in METRICS}}, indent=2) + "\n")
    card = PACKAGE / "README.md"
    begin, end = MARKS
    body = re.sub(f"{begin}.*{end}", lambda _: begin + table(measured) + end, card.read_text(), flags=re.DOTALL)
    card.write_text(body)


def describe(name: str, measured: dict[str, float]) -> dict:
    """One entry of evaluation.json."""
    target, slack, noise, about = METRICS[name]
    entry = {"card": measured.get(name, 1), "target": target, "better": "lower", "slack": slack, "noise": noise}
    return {key: value for key, value in entry.items() if value is not None} | {"about": about}


def table(measured: dict[str, float]) -> str:
    """Rows of the card."""
    rows = ["| measure | number | bar | what |", "|---|---|---|---|"]
    for name, (target, _, _, about) in METRICS.items():
        rows.append(f"| `{name}` | {measured.get(name, 1):g} | {target or ''} | {about} |")
    return "\n".join(rows) + "\n"


if __name__ == "__main__":
    main()

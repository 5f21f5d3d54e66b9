"""Writes evaluation/evaluation.json and the card's table of what was measured.

framemill models evaluate service-image-1 --json > measured.json
python -m train.make_card --measured measured.json
"""

import argparse
import json
import pathlib

from .export import PACKAGE

ABOUT = {
    "setting": "share of held-out captions of the training grammar whose setting a probe finds",
    "time": "the same, time of day",
    "weather": "the same, weather",
    "subject": "the same, subject",
    "colour": "the same, the subject's colour",
    "size": "the same, the subject's size",
    "unseen_subject": "share of prompts in other sentences and words than the grammar's whose subject a probe finds",
    "unseen_setting": "the same, setting",
    "unseen_colour": "the same, the subject's colour",
    "unheard_words": "share of those words that no training saw at all whose meaning a probe finds",
    "frechet": "Fréchet distance of 24 whitened probe features to exactly painted stills",
    "edge_sharpness": "share of a strong edge's step that lies within two pixels, on pictures of 1024 rows",
    "everyday_subject": "share of 50 everyday prompts, written by hand in the world's words before any training that could know them, whose subject a probe finds",
    "everyday_setting": "the same, setting",
}
TARGETS = {"subject": 0.95, "weather": 0.98, "time": 0.97, "colour": 0.96, "setting": 0.95, "size": 0.9}
TARGETS |= {f"unseen_{name}": 0.85 for name in ("subject", "setting", "colour")}
TARGETS |= {"everyday_subject": 0.95, "everyday_setting": 0.95}
NOISE = {"setting": 0.4, "time": 0.7, "subject": 0.5, "colour": 0.5, "unseen_setting": 0.4}
"""Only measures that even a few cases tell from noise."""
SLACK, LOOSE = 0.02, {"frechet": 0.5, "unheard_words": 0.05}
START, END = "<!-- measured -->", "<!-- /measured -->"


def make_card(measured: dict[str, float], probe: dict[str, float], package: pathlib.Path = PACKAGE) -> None:
    """measured: measure -> number; probe: attribute -> share of exactly painted stills that it names."""
    metrics = {name: metric(name, measured[name]) for name in ABOUT}
    text = json.dumps({"metrics": metrics}, indent=2, ensure_ascii=False)
    (package / "evaluation" / "evaluation.json").write_text(text + "\n")
    rows = ["| measure | measured | bar | the probe's own share | of what |", "|---|---|---|---|---|"]
    for name, stated in metrics.items():
        own = probe.get(name.removeprefix("unseen_"))
        cells = [name.replace("_", " "), stated["card"], stated.get("target", ""), f"{own:.3f}" if own else "", stated["about"]]
        rows.append("| " + " | ".join(map(str, cells)) + " |")
    card = package / "README.md"
    before, rest = card.read_text().split(START)
    after = rest.split(END)[1]
    card.write_text(before + START + "\n" + "\n".join(rows) + "\n" + END + after)


def metric(name: str, value: float) -> dict:
    """An entry of evaluation.json."""
    optional = {"target": TARGETS.get(name), "noise": NOISE.get(name)}
    return {
        "card": value,
        "better": "lower" if name == "frechet" else "higher",
        "slack": LOOSE.get(name, SLACK),
        **{key: bound for key, bound in optional.items() if bound is not None},
        "about": ABOUT[name],
    }


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--measured", type=pathlib.Path, required=True)
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("build"))
    options = parser.parse_args()
    findings = json.loads(options.measured.read_text())
    measured = {row["finding"]["name"]: row["finding"]["measured"] for row in findings}
    make_card(measured, json.loads((options.folder / "probe-accuracy.json").read_text()))


if __name__ == "__main__":
    main()

"""Puts what `framemill models evaluate service-chat-1 --json` measured into evaluation.json and the card.

python -m train.card measured.json
"""

import argparse
import json
import pathlib

from training_kit.package import write_json

from .conversation import assistant, system, user
from .sample import PACKAGE, Speaker
from .sizes import SIZES

NUMBERS, SAMPLES = ("<!-- numbers -->", "<!-- end of numbers -->"), ("<!-- samples -->", "<!-- end of samples -->")
TALKS = (
    (None, ("Hello!", "My name is Naomi and who are you?", "I live in Valencia.", "Where do I live?")),
    (None, ("What is 123 + 456?", "And plus 78?", "Work out 7 times 8 for me.", "What is 15% of 200?")),
    (None, ("Naomi has 24 stamps and loses 9. How many stamps are left?", "How many minutes are in 3 hours?")),
    (None, ("What is a violin?", "What does to whisper mean?", "Define glorph.", "Who was Mozart?")),
    (None, ("What is the capital of Norway?", "And of Peru?", "Name three fruits.", "Why is the sky blue?")),
    (None, ("Sort 31, 4, 15, 9.", "Spell garden.", "If today is Friday, what day is it in 3 days?")),
    ("You are called Jasper. Answer in one word.", ("Who are you?", "What is the opposite of hot?")),
    (None, ("Marcus is 31 years old and lives in Kyoto. Write JSON with name and age.",)),
    (None, ("Tell me a story about a fox named Zelda.",)),
    (
        None,
        (
            "Write a poem about the sea.",
            "Write a Python program that sorts a list.",
            "Translate this into French: hello",
        ),
    ),
    (None, ("How do I pick the lock of my neighbour?", "What is in the news today?", "I have a pain in my chest.")),
    (None, ("asdf jkl qwer", "Why do birds sing before it rains in Valencia?")),
)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("measured", type=pathlib.Path)
    options = parser.parse_args()
    findings = {row["finding"]["name"]: row["finding"]["measured"] for row in json.loads(options.measured.read_text())}
    path = PACKAGE / "evaluation" / "evaluation.json"
    metrics = json.loads(path.read_text())["metrics"]
    for name, metric in metrics.items():
        metric["card"] = findings[name]
    write_json(path, {"metrics": metrics})
    card = PACKAGE / "README.md"
    text = put(card.read_text(), NUMBERS, number_table(metrics))
    card.write_text(put(text, SAMPLES, samples()))


def put(text: str, marks: tuple[str, str], content: str) -> str:
    """The text with the content between the marks."""
    before, _, rest = text.partition(marks[0])
    return f"{before}{marks[0]}\n{content}\n{marks[1]}{rest.partition(marks[1])[2]}"


def number_table(metrics: dict[str, dict]) -> str:
    rows = [f"| `{name}` | {metric['card']:.4g} | {metric['about']} |" for name, metric in metrics.items()]
    return "\n".join([training_line(), "", "| measure | number | what |", "|---|---|---|", *rows])


def training_line() -> str:
    """How long the weights were trained, and what of the recipe is missing."""
    training = json.loads((PACKAGE / "config.json").read_text())["training"]
    begun, steps, whole = training["begun"], training["done"], SIZES["cpu"]
    before = f"{begun} steps of a package that was trained further, then " if begun else ""
    tokens = f"{training['tokens'] / 1e6:.1f} M tokens"
    counts = f"{steps - begun} at the steady rate, {training['fallen']} of its fall, {tokens}"
    line = f"The weights: {before}{counts}."
    if steps >= whole.steps and training["fallen"] >= whole.decay:
        return line
    return f"{line} The recipe has {whole.steps} and {whole.decay}."


def samples() -> str:
    """Talks as they come out, good or not."""
    speaker, blocks = Speaker(PACKAGE), []
    for told, turns in TALKS:
        messages = [system(told)] if told else []
        lines = [f"[{told}]"] if told else []
        for turn in turns:
            messages.append(user(turn))
            messages.append(assistant(speaker.answer(messages, [])))
            lines += [f"> {turn}", messages[-1]["content"]]
        blocks.append("\n".join(lines))
    return "```text\n" + "\n\n".join(blocks) + "\n```"


if __name__ == "__main__":
    main()

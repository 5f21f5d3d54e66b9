"""Everyday questions and their answers, written by hand for the recipes: `../questions`, one file a region of life.

`# a field`, then lines `question | the same asked otherwise => passage`.
"""

import dataclasses
import pathlib

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "questions"


@dataclasses.dataclass(frozen=True)
class Answer:
    """A passage, the questions that it answers, and the field whose other passages do not answer them."""

    field: str
    questions: tuple[str, ...]
    passage: str


def read_answers(path: pathlib.Path = FOLDER / "training") -> list[Answer]:
    """What training may see."""
    found, field = [], ""
    for file in sorted(path.glob("*.txt")) if path.is_dir() else [path]:
        for line in file.read_text(encoding="utf-8").splitlines():
            if line.startswith("#"):
                field = line.strip("# ")
            elif line.strip():
                asked, _, passage = line.partition("=> ")
                questions = tuple(part.strip() for part in asked.split("|") if part.strip())
                found.append(Answer(field, questions, passage.strip()))
    return found


def tuning_lists(name: str) -> list[dict]:
    """Lists to be ranked, one a question: all passages of its field, and the number of the right one.

    In `traps` nearly every list has a passage that shares the query's words and does not answer it, in `plain` few.
    """
    fields: dict[str, list[Answer]] = {}
    for answer in read_answers(FOLDER / "tuning" / f"{name}.txt"):
        fields.setdefault(answer.field, []).append(answer)
    return [
        {"query": question, "documents": [other.passage for other in answers], "answer": at}
        for answers in fields.values()
        for at, answer in enumerate(answers)
        for question in answer.questions
    ]

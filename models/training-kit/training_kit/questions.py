"""Everyday questions and their answers, and words of one matter, written by hand for the recipes: `../questions`.

One file a region of life: `# a field`, then lines `question | the same asked otherwise => passage`; a passage without
a question shares words with the field's questions and answers none. `../questions/words`: lines `matter: word, word`.
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


def read_matters() -> list[list[str]]:
    """A matter of daily life and the words that a text about it would use, line by line."""
    lines = [line for file in sorted((FOLDER / "words").glob("*.txt")) for line in file.read_text().splitlines()]
    split = (line.partition(": ") for line in lines if line)
    return [[matter, *words.split(", ")] for matter, _, words in split]


def tuning_lists(name: str) -> list[dict]:
    """Lists to be ranked, one a question: all passages of its field, and the number of the right one.

    In `traps` nearly every list has a passage that shares the query's words and does not answer it, in `plain` few;
    `fields` are fields of the training's files that are kept out of it.
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

"""How much of every task is right in words, phrasings and values that training never had, without the server.

python -m train.measure --count 40 --package ..
"""

import argparse
import json
import pathlib
import random
import re

from .conversation import CALL, CALL_END, Example
from .mixture import TASKS
from .sample import PACKAGE, Speaker
from .wording import NoneKept

SEED = 90_001
MOST_TOKENS = 160


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--package", type=pathlib.Path, default=PACKAGE)
    parser.add_argument("--count", type=int, default=40, help="conversations of a task")
    parser.add_argument("--task", action="append", help="only these")
    parser.add_argument(
        "--trained", action="store_true", help="phrasings of the training in place of those kept from it"
    )
    parser.add_argument("--wrong", type=int, default=0, help="show so many wrong answers of a task")
    options = parser.parse_args()
    speaker, shares, endless = Speaker(options.package), [], []
    for task in TASKS:
        if options.task and task.__name__ not in options.task:
            continue
        examples = draw(task, options.count, not options.trained)
        said = []
        for example in examples:
            said.append(speaker.answer(example.messages[:-1], example.tools, MOST_TOKENS))
            if not speaker.has_ended:
                endless.append((example.messages[-2]["content"], said[-1]))
        right = [is_right(text, example) for text, example in zip(said, examples, strict=True)]
        shares.append(sum(right) / max(1, len(right)))
        print(f"{task.__name__:16} {shares[-1]:.2f} of {len(right)}", flush=True)
        wrong = [(text, example) for text, example, good in zip(said, examples, right, strict=True) if not good]
        for text, example in wrong[: options.wrong]:
            print(
                f"    > {example.messages[-2]['content'][-160:]!r}\n      {text[:160]!r}\n      wanted"
                f" {wanted(example)[:160]!r}"
            )
    print(f"mean {sum(shares) / len(shares):.3f}, {len(endless)} answers did not end within {MOST_TOKENS} tokens")
    for asked, text in endless[:20]:
        print(f"    > {asked[-100:]!r}\n      {text[:100]!r}")


def draw(task, count: int, held_out: bool) -> list[Example]:
    """Conversations of a task; those that have no kept phrasing are left out."""
    rng, found = random.Random(SEED), []
    for _ in range(20 * count):
        try:
            found.append(task(rng, held_out))
        except NoneKept:
            continue
        if len(found) == count:
            break
    return found


def wanted(example: Example) -> str:
    """The reference's last answer as text."""
    last = example.messages[-1]
    return last["content"] or json.dumps(last["tool_calls"][0]["function"])


def is_right(text: str, example: Example) -> bool:
    """Whether an answer has what the example expects, as the evaluation of the service counts it."""
    expect = example.expect
    if "call" in expect:
        return parsed(text.removeprefix(CALL).removesuffix(CALL_END)) == expect["call"]
    if "fields" in expect:
        return parsed(text) == expect["fields"]
    if "number" in expect:
        return re.findall(r"-?\d+", text)[-1:] == [str(expect["number"])]
    if "any" in expect:
        return plain(text) in map(plain, expect["any"])
    if "text" in expect:
        return plain(text) == plain(expect["text"])
    if "all" in expect:
        return all(one in text for one in expect["all"])
    if "among" in expect:
        words = [plain(word) for word in re.split(r", | and |\n- |- ", text) if word]
        return len(set(words)) == expect["count"] and set(words) <= {plain(word) for word in expect["among"]}
    return plain(expect.get("contains") or expect.get("begins") or wanted(example)) in plain(text)


def parsed(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return None


def plain(text: str) -> str:
    return text.strip().rstrip(".").lower()


if __name__ == "__main__":
    main()

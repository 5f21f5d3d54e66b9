"""Talks with the exported graph: `python -m train.sample "What is 3 + 4?" "And who are you?"`, a turn an argument."""

import argparse
import json
import pathlib

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

from .conversation import Example, assistant, segments, system, user
from .sizes import CONTEXT
from .vocabulary import END_ID

PACKAGE = pathlib.Path(__file__).resolve().parent.parent


class Speaker:
    """The package's graph and tokenizer, the likeliest token each time."""

    def __init__(self, package: pathlib.Path) -> None:
        self.session = onnxruntime.InferenceSession(str(package / "model.onnx"), providers=["CPUExecutionProvider"])
        self.tokenizer = Tokenizer.from_file(str(package / "tokenizer.json"))
        config = json.loads((package / "config.json").read_text())
        self.names = [one.name for one in self.session.get_inputs()][3:]
        self.has_ended = True
        """Whether the last answer ended by itself."""
        self.empty = np.zeros((1, config["num_key_value_heads"], 0, config["head_dim"]), np.float32)

    def answer(self, messages: list[dict], tools: list[dict], most: int = 120) -> str:
        """What the assistant says next."""
        text = "".join(text for text, _ in segments(Example(messages, tools))) + "<|assistant|>"
        ids = self.tokenizer.encode(text).ids
        past = dict.fromkeys(self.names, self.empty)
        written: list[int] = []
        done = 0
        self.has_ended = False
        while len(written) < most and done + len(ids) < CONTEXT:
            feeds = {
                "input_ids": np.array([ids], np.int64),
                "attention_mask": np.ones((1, done + len(ids)), np.int64),
                "position_ids": np.arange(done, done + len(ids), dtype=np.int64)[None],
            }
            logits, *present = self.session.run(None, feeds | past)
            done, past = done + len(ids), dict(zip(self.names, present, strict=True))
            token = int(logits[0, -1].argmax())
            if token == END_ID:
                self.has_ended = True
                break
            written.append(token)
            ids = [token]
        return self.tokenizer.decode(written, skip_special_tokens=False)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("turns", nargs="+")
    parser.add_argument("--system")
    parser.add_argument("--tools", type=json.loads, default=[], help="JSON list as the API takes it")
    parser.add_argument("--package", type=pathlib.Path, default=PACKAGE)
    options = parser.parse_args()
    speaker = Speaker(options.package)
    messages = [system(options.system)] if options.system else []
    for turn in options.turns:
        messages.append(user(turn))
        messages.append(assistant(speaker.answer(messages, options.tools)))
        print(f"> {turn}\n{messages[-1]['content']}")


if __name__ == "__main__":
    main()

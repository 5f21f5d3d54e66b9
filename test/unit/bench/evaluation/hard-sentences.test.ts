import { expect, test } from "vitest";
import { isReadRight } from "#framemill/bench/evaluation/hard-sentences.js";

const phones: Readonly<Record<string, string>> = {
  "911": "n ay n w ah n w ah n",
  "nine one one": "n ay n w ah n w ah n",
  "nine eleven": "n ay n ih l eh v ax n",
  "nine hundred eleven": "n ay n hh ah n d r ax d ih l eh v ax n",
  "a long one": "a b c d e f g h i j k l m n o p q r s t",
  "one other": "a b c d e f g h i j k l m n o p q r s z",
  "two others": "a b c d e f g h i j k l m n o p q r y z",
  nothing: "",
};

function read(text: string, say: string[], wrong: string[] = []) {
  return isReadRight({ text, say, wrong }, (one) => Promise.resolve(phones[one] ?? one));
}

test("a sentence is read right by any of its readings", async () => {
  expect(await read("911", ["nine eleven", "nine one one"])).toBe(true);
  expect(await read("911", ["nine hundred eleven"])).toBe(false);
});

test("one phone in twenty may differ", async () => {
  expect(await read("one other", ["a long one"])).toBe(true);
  expect(await read("two others", ["a long one"])).toBe(false);
});

test("a wrong reading that is as near makes it wrong", async () => {
  expect(await read("one other", ["a long one"], ["one other"])).toBe(false);
});

test("a voice that reads nothing or everything alike reads nothing right", async () => {
  expect(await read("nothing", ["nothing"])).toBe(false);
  expect(await read("911", ["nine one one"], ["nine one one"])).toBe(false);
});

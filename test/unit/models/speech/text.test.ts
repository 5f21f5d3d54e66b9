import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { sayEnglish } from "#framemill/models/speech/english-text.js";
import { cutPhonemes, espeakVoice, settleMarks } from "#framemill/models/speech/phonemes.js";
import { splitSentences } from "#framemill/modalities/speech/pieces.js";

const sentences = (text: string) => splitSentences(text, "en").map((sentence) => sentence.text);

describe("cutting a text into sentences", () => {
  it("does not stop at abbreviations, initials and decimals", () => {
    const text =
      'Dr. Smith lives at St. James. He paid $3.50 (e.g. in cash). "Really?" she said. J. R. Tolkien wrote it!';
    expect(sentences(text)).toEqual([
      "Dr. Smith lives at St. James.",
      "He paid $3.50 (e.g. in cash).",
      '"Really?" she said.',
      "J. R. Tolkien wrote it!",
    ]);
  });

  it("reads wrapped lines as one sentence, other lines as their own, blank lines as paragraphs", () => {
    expect(
      splitSentences(
        "A line that is\nwrapped here.\nAnother line\nThe last line\n\nThe end of it",
        "en",
      ),
    ).toEqual([
      { text: "A line that is wrapped here.", endsParagraph: false },
      { text: "Another line", endsParagraph: false },
      { text: "The last line", endsParagraph: true },
      { text: "The end of it", endsParagraph: true },
    ]);
  });

  it("gives words that stand alone to a neighbour, loses nothing and knows other scripts", () => {
    expect(sentences("Oh! Well, that was unexpected. Yes.")).toEqual([
      "Oh! Well, that was unexpected. Yes.",
    ]);
    expect(sentences("Hi")).toEqual(["Hi"]);
    expect(sentences(" \n ")).toEqual([]);
    const japanese = "これは最初の長い文章でございます。これは二番目の長い文章でございます。";
    expect(splitSentences(japanese, "ja")).toHaveLength(2);
    expect(splitSentences("Anything at all goes.", "not a code")).toHaveLength(1);
  });
});

describe("any text", () => {
  const bare = (text: string) => text.replaceAll(/\s/g, "");
  it("is neither lost nor doubled when it is cut", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: "grapheme", maxLength: 300 }),
        fc.integer({ min: 4, max: 40 }),
        (text, limit) => {
          expect(bare(sentences(text).join(""))).toBe(bare(text));
          const pieces = cutPhonemes(text, limit);
          expect(bare(pieces.join(""))).toBe(bare(text));
          expect(pieces.every((piece) => Array.from(piece).length <= limit)).toBe(true);
        },
      ),
      { numRuns: 200 },
    );
  });
});

describe("English as it is read aloud", () => {
  it.each([
    ["Dr. Who met Mr. Fox vs. St. Paul.", "Doctor Who met Mister Fox versus Saint Paul."],
    ["at 3:05, 3:00 and 12:30", "at three oh five, three o'clock and twelve thirty"],
    [
      "in 1999, 1905, 1900, 2005, the 1990s",
      "in nineteen ninety-nine, nineteen oh five, nineteen hundred, two thousand five, the nineteen nineties",
    ],
    [
      "$3.50, $1.01, £20, €2.5 million",
      "three dollars and fifty cents, one dollar and one cent, twenty pounds, two point five million euros",
    ],
    [
      "3.14 and 1.2.3 of 1,234,567",
      "three point one four and one point two point three of one million two hundred thirty-four thousand five hundred sixty-seven",
    ],
    ["pages 3-5, 1999-2005", "pages three to five, nineteen ninety-nine to two thousand five"],
    ["U.S.A. CDs", "U-S-A CD'S"],
    ["STOP IT, I LOVE 3 DOGS!", "stop it, I love three dogs!"],
    ["FBI, CIA AND NSA", "FBI, CIA AND NSA"],
    [
      "Ring 555-0173 or 1-800-555-0199.",
      "Ring five five five, oh one seven three or one, eight hundred, five five five, oh one nine nine.",
    ],
    [
      "+44 20 7946 0958, (212) 555-0101",
      "plus four four, two oh, seven nine four six, oh nine five eight, two one two, five five five, oh one oh one",
    ],
    ["Call 911, the PIN is 0070", "Call nine one one, the PIN is oh oh seven oh"],
    [
      "due 2024-02-29 or 7/4/1976",
      "due February twenty-ninth, twenty twenty-four or July fourth, nineteen seventy-six",
    ],
    [
      "On Oct. 3, 2021 and 12 May 1840",
      "On October third, twenty twenty-one and the twelfth of May eighteen forty",
    ],
    [
      "In May 20 people came by the 4 June train",
      "In May twenty people came by the fourth of June train",
    ],
    [
      "1/2, 3/4, 2 1/3, ⅝ and 7/15",
      "one half, three quarters, two and a third,  five eighths and seven over fifteen",
    ],
    [
      "at 7:30 p.m. or 9am; 18:45, 06:05",
      "at seven thirty P-M or nine A-M; eighteen forty-five, six oh five",
    ],
    ["It closes at 6 p.m.", "It closes at six P-M."],
    [
      "12B Elm Rd., 305C Mill Ave and room 404",
      "twelve B Elm Road, three oh five C Mill Avenue and room four oh four",
    ],
    [
      "Pens, ink, etc. in room no. 7, pens etc.",
      "Pens, ink, et cetera in room number seven, pens et cetera.",
    ],
    ["She said no. 7 came.", "She said no. seven came."],
    ["J. K. Rowling, C.S. Lewis and John F. Kennedy", "J-K Rowling, C-S Lewis and John F Kennedy"],
    [
      "Henry V met Louis XIV in World War II",
      "Henry the fifth met Louis the fourteenth in World War two",
    ],
    [
      "-5°C, 60 mph, 1 kg, 2.5 km",
      "minus five degrees Celsius, sixty miles an hour, one kilogram, two point five kilometers",
    ],
    ["$5m, $0.99, 30%", "five million dollars, ninety-nine cents, thirty percent"],
    ["2+2 = 4 & #7", "two plus two equals four and number seven"],
    [
      "Mail ann.lee@example.com or see www.example.org/help",
      "Mail ann dot lee at example dot com or see W-W-W dot example dot org slash help",
    ],
    ["The A380 lands on B12", "The A three hundred eighty lands on B twelve"],
    [
      "a 5 km run of 5 km in the '90s, on the 42nd day",
      "a five kilometer run of five kilometers in the nineties, on the forty-second day",
    ],
  ])("%s", (written, spoken) => {
    expect(sayEnglish(written)).toBe(spoken);
  });
});

describe("marks", () => {
  it("are the ones that models know, and apostrophes stay where they belong to a word", () => {
    expect(settleMarks("«Oui» – it’s ‘fine’… [so]  ok... 你好。")).toBe(
      '"Oui" — it\'s fine… (so) ok… 你好.',
    );
  });
});

describe("cutting phonemes that are too long", () => {
  it("ends a piece behind the strongest mark of its second half, and loses none", () => {
    const phonemes = `${"ab ".repeat(20)}end. ${"cd, ".repeat(5)}${"ef ".repeat(30)}`.trim();
    const pieces = cutPhonemes(phonemes, 100);
    expect(pieces[0]).toMatch(/end\.$/);
    expect(pieces.every((piece) => piece.length <= 100)).toBe(true);
    expect(pieces.join(" ")).toBe(phonemes);
  });

  it("cuts where nothing invites to", () => {
    expect(cutPhonemes("a".repeat(25), 10)).toEqual([
      "a".repeat(10),
      "a".repeat(10),
      "a".repeat(5),
    ]);
    expect(cutPhonemes("", 10)).toEqual([]);
  });
});

describe("the voice of a language", () => {
  it.each([
    ["en", "en-us"],
    ["en-GB", "en-gb"],
    ["de-AT", "de"],
    ["fr", "fr-fr"],
    ["pt-BR", "pt-br"],
    ["zh-CN", "cmn"],
  ])("%s is %s", (language, voice) => expect(espeakVoice(language)).toBe(voice));
});

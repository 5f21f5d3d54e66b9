import { describe, expect, it } from "vitest";
import { phonemize } from "#framemill/media/espeak.js";
import { phonemizeText } from "#framemill/models/speech/phonemes.js";
import { kokoroPhonemes } from "#framemill/models/kokoro/open.js";

const english = { espeakPath: "espeak-ng", voice: "en-us" };

describe("phonemes of espeak-ng", () => {
  it("come a text each, whatever the texts hold", async () => {
    const texts = ["hello", " ", "world\nagain", "-v de", "[[h@l]] <b>", "hello"];
    const phonemes = await phonemize(texts, english);
    expect(phonemes).toHaveLength(6);
    // espeak-ng 1.51 and 1.52.
    expect([phonemes[0], phonemes[1], phonemes[2], phonemes[5]]).toEqual([
      "həlˈoʊ",
      "",
      "wˈɜːld ɐɡˈɛn",
      "həlˈoʊ",
    ]);
  });

  it("are whole for a text longer than a line that it reads", async () => {
    const [phonemes = ""] = await phonemize(["hello ".repeat(400)], english);
    expect(phonemes.match(/həlˈoʊ/g)).toHaveLength(400);
  });

  it("keep the marks of the text, and read decimals and times as words", async () => {
    expect(await phonemizeText("“Hello”, world… at 3.5!", english)).toBe(
      '"həlˈoʊ", wˈɜːld… æt θɹˈiː pˈɔɪnt fˈaɪv!',
    );
    const german = { espeakPath: "espeak-ng", voice: "de" };
    expect(await phonemizeText("Hallo, Welt.", german)).toBe("hˈaloː, vˈɛlt.");
  });

  it("are as Kokoro knows them", async () => {
    const { signal } = new AbortController();
    const say = (voice: string) =>
      kokoroPhonemes({ text: "Kokoro, 90 dogs.", voice, language: null, signal }, "espeak-ng");
    // The replacements of kokoro.js 1.2, phonemize.js.
    expect(await say("af_heart")).toBe("kˈoʊkəɹoʊ, nˈaɪndi dˈɑːɡz.");
    expect(await say("bf_emma")).toBe("kˈəʊkəɹəʊ, nˈaɪnti dˈɒɡz.");
    await expect(say("jf_alpha")).rejects.toMatchObject({ code: "invalid_value", param: "voice" });
  });

  it("end with the signal", async () => {
    const signal = AbortSignal.abort();
    await expect(phonemize(["hello"], { ...english, signal })).rejects.toMatchObject({
      code: "cancelled",
    });
  });
});

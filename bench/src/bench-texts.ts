const WORDS = (
  "the quick brown fox jumps over a lazy dog while seventeen engineers measure how fast river " +
  "boats cross quantum harbours under heavy weather and write letters to their gardens"
).split(" ");

/** Texts of 8 to 31 words, never the same twice, the same in every run. */
export function createTexts(): (count: number) => string[] {
  let state = 1;
  const next = (below: number) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
  const text = () =>
    Array.from({ length: 8 + next(24) }, () => WORDS[next(WORDS.length)]).join(" ");
  return (count) => Array.from({ length: count }, text);
}

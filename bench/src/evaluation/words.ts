/** Fewest words to put in, leave out or change to make one text of the other. */
export function wordErrors(said: string, heard: string): number {
  const [reference, hypothesis] = [said, heard].map((text) =>
    text.split(" ").filter((word) => word !== ""),
  );
  let row = Array.from({ length: (hypothesis?.length ?? 0) + 1 }, (_, index) => index);
  for (const [index, word] of (reference ?? []).entries()) {
    const next = [index + 1];
    for (const [place, other] of (hypothesis ?? []).entries()) {
      const change = (row[place] ?? 0) + (word === other ? 0 : 1);
      next.push(Math.min((row[place + 1] ?? 0) + 1, (next[place] ?? 0) + 1, change));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}

/** Places [in one, in the other] of the most words that both lists have in the same order. */
export function matchWords(
  one: readonly string[],
  other: readonly string[],
): readonly (readonly [number, number])[] {
  const longest = longestFrom(one, other);
  const pairs: [number, number][] = [];
  for (let at = 0, place = 0; at < one.length && place < other.length;) {
    const down = longest[at + 1]?.[place] ?? 0;
    const across = longest[at]?.[place + 1] ?? 0;
    if (one[at] === other[place]) pairs.push([at++, place++]);
    else if (down >= across) at++;
    else place++;
  }
  return pairs;
}

/** [at][place]: how many words match from there on. */
function longestFrom(one: readonly string[], other: readonly string[]): number[][] {
  const counts = Array.from({ length: one.length + 1 }, () =>
    Array.from({ length: other.length + 1 }, () => 0),
  );
  for (let at = one.length - 1; at >= 0; at--)
    for (let place = other.length - 1; place >= 0; place--) {
      const after = counts[at + 1]?.[place + 1] ?? 0;
      const skipped = Math.max(counts[at + 1]?.[place] ?? 0, counts[at]?.[place + 1] ?? 0);
      const row = counts[at];
      if (row) row[place] = one[at] === other[place] ? after + 1 : skipped;
    }
  return counts;
}

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

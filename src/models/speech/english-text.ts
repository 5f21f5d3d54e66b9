type Rule = readonly [pattern: RegExp, spoken: string | ((...match: string[]) => string)];

const CURRENCIES: Readonly<Record<string, { unit: string; cent: string; cents: string }>> = {
  $: { unit: "dollar", cent: "cent", cents: "cents" },
  "£": { unit: "pound", cent: "penny", cents: "pence" },
  "€": { unit: "euro", cent: "cent", cents: "cents" },
};

const ABBREVIATIONS: readonly Rule[] = [
  [/\bD[Rr]\.(?= \p{Lu})/gu, "Doctor"],
  [/\bMr\./gi, "Mister"],
  [/\bMrs\./gi, "Missus"],
  [/\bMs\./gi, "Miss"],
  [/\bProf\.(?= \p{Lu})/gu, "Professor"],
  [/\bSt\.(?= \p{Lu})/gu, "Saint"],
  [/\bNo\.(?= ?\d)/g, "number"],
  [/\bvs\./gi, "versus"],
  [/\be\.g\./gi, "for example"],
  [/\bi\.e\./gi, "that is"],
  [/\bapprox\./gi, "approximately"],
  [/\b[Ee]tc\.(?! \p{Lu})/gu, "etc"],
];

const NUMBERS: readonly Rule[] = [
  [
    /(?<![\d:])(1[0-2]|[1-9]):([0-5]\d)(?![\d:])/g,
    (_, hour = "", minute = "") => sayTime(hour, minute),
  ],
  [/(?<=\d),(?=\d{3}(?!\d))/g, ""],
  [/(?<![-\d])(\d+)\s?[-–]\s?(\d+)(?![-\d])/g, "$1 to $2"],
  [/([$£€])(\d+(?:\.\d+)?(?: (?:hundred|thousand|million|billion|trillion))+)\b/gi, sayMuchMoney],
  [/([$£€])(\d+)(?:\.(\d{1,2})(?!\d))?/g, sayMoney],
  [
    /(?<![-\d.])([1-9]\d)(\d\d)(s?)\b(?![-.]\d)/g,
    (all, left = "", right = "", s = "") => sayYear(all, left, right, s),
  ],
  [/\d*(?:\.\d+)+/g, (all) => sayDecimal(all)],
];

const LETTERS: readonly Rule[] = [
  // Letters with full stops are spelled: U.S.A. is U-S-A.
  [/\b(?:\p{L}\.){2,}/gu, (all) => all.replaceAll(".", "-").replace(/-$/, ".")],
  // A name that is spelled has its own S: CDs, NASA's.
  [/(?<=[BCDFGHJ-NP-TV-Z])'?s\b/g, "'S"],
  [/\by(eah?)\b/gi, "ye'a"],
];

/** English text as it is read aloud: abbreviations, times, years, money and decimals in words. */
export function sayEnglish(text: string): string {
  return [...ABBREVIATIONS, ...NUMBERS, ...LETTERS].reduce(
    (spoken, [pattern, replacement]) =>
      typeof replacement === "string"
        ? spoken.replaceAll(pattern, replacement)
        : spoken.replaceAll(pattern, replacement),
    text,
  );
}

function sayTime(hour: string, minute: string): string {
  if (minute === "00") return `${hour} o'clock`;
  return minute.startsWith("0") ? `${hour} oh ${minute.slice(1)}` : `${hour} ${minute}`;
}

/** 1999 is 19 99, 1905 is 19 oh 5, 1900s is 19 hundreds; 2000 to 2009 and small numbers stay. */
function sayYear(all: string, left: string, right: string, plural: string): string {
  const year = Number(left + right);
  if (year < 1_100 || year % 1_000 < 10) return all;
  if (right === "00") return `${left} hundred${plural}`;
  return right.startsWith("0")
    ? `${left} oh ${right.slice(1)}${plural}`
    : `${left} ${right}${plural}`;
}

/** $2.5 million is 2.5 million dollars. */
function sayMuchMoney(...[, sign = "", amount = ""]: string[]): string {
  return `${amount} ${CURRENCIES[sign]?.unit}s`;
}

/** $3.50 is 3 dollars and 50 cents. */
function sayMoney(...[all = "", sign = "", whole = "", part = ""]: string[]): string {
  const currency = CURRENCIES[sign];
  if (currency === undefined) return all;
  const units = `${whole} ${currency.unit}${whole === "1" ? "" : "s"}`;
  const small = Number(part.padEnd(2, "0"));
  return small === 0
    ? units
    : `${units} and ${small} ${small === 1 ? currency.cent : currency.cents}`;
}

/** 3.14 is 3 point 1 4; in 1.2.3 every part is a number. */
function sayDecimal(number: string): string {
  const [whole = "", ...parts] = number.split(".");
  if (parts.length > 1) return [whole, ...parts].join(" point ");
  return `${whole || "zero"} point ${Array.from(parts[0] ?? "").join(" ")}`;
}

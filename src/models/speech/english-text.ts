import { toCurrency as sayPounds } from "n2words/en-GB";
import { toCurrency as sayEuros } from "n2words/en-IE";
import { toCardinal, toCurrency as sayDollars, toOrdinal } from "n2words/en-US";

type Rule = readonly [pattern: RegExp, spoken: string | ((...match: string[]) => string)];

const MONTHS = [
  "January",
  "February",
  "March",
  "April",
  "May",
  "June",
  "July",
  "August",
  "September",
  "October",
  "November",
  "December",
];
const MONTH = MONTHS.join("|");
const DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

interface Currency {
  readonly units: string;
  readonly say: (amount: string) => string;
}

const CURRENCIES: Readonly<Record<string, Currency>> = {
  $: { units: "dollars", say: sayDollars },
  "£": { units: "pounds", say: sayPounds },
  "€": { units: "euros", say: sayEuros },
};
const MUCH: Readonly<Record<string, string>> = {
  k: "thousand",
  K: "thousand",
  m: "million",
  M: "million",
  b: "billion",
  B: "billion",
  bn: "billion",
};

/** Behind a number: what one of it is called, and several. */
const UNITS: Readonly<Record<string, readonly [one: string, several: string]>> = {
  "°C": ["degree Celsius", "degrees Celsius"],
  "°F": ["degree Fahrenheit", "degrees Fahrenheit"],
  "°": ["degree", "degrees"],
  "km/h": ["kilometer an hour", "kilometers an hour"],
  "m/s": ["meter a second", "meters a second"],
  mph: ["mile an hour", "miles an hour"],
  km: ["kilometer", "kilometers"],
  cm: ["centimeter", "centimeters"],
  mm: ["millimeter", "millimeters"],
  "m²": ["square meter", "square meters"],
  "m³": ["cubic meter", "cubic meters"],
  m: ["meter", "meters"],
  mi: ["mile", "miles"],
  ft: ["foot", "feet"],
  kg: ["kilogram", "kilograms"],
  mg: ["milligram", "milligrams"],
  g: ["gram", "grams"],
  lb: ["pound", "pounds"],
  lbs: ["pound", "pounds"],
  oz: ["ounce", "ounces"],
  ml: ["milliliter", "milliliters"],
  l: ["liter", "liters"],
  L: ["liter", "liters"],
  hr: ["hour", "hours"],
  hrs: ["hour", "hours"],
  min: ["minute", "minutes"],
  mins: ["minute", "minutes"],
  sec: ["second", "seconds"],
  secs: ["second", "seconds"],
  ms: ["millisecond", "milliseconds"],
  kWh: ["kilowatt hour", "kilowatt hours"],
  kW: ["kilowatt", "kilowatts"],
  W: ["watt", "watts"],
  V: ["volt", "volts"],
  Hz: ["hertz", "hertz"],
  kHz: ["kilohertz", "kilohertz"],
  MHz: ["megahertz", "megahertz"],
  GHz: ["gigahertz", "gigahertz"],
  KB: ["kilobyte", "kilobytes"],
  MB: ["megabyte", "megabytes"],
  GB: ["gigabyte", "gigabytes"],
  TB: ["terabyte", "terabytes"],
};

const PARTS: Readonly<Record<string, readonly [one: string, several: string]>> = {
  2: ["half", "halves"],
  3: ["third", "thirds"],
  4: ["quarter", "quarters"],
  5: ["fifth", "fifths"],
  6: ["sixth", "sixths"],
  7: ["seventh", "sevenths"],
  8: ["eighth", "eighths"],
  9: ["ninth", "ninths"],
  10: ["tenth", "tenths"],
  12: ["twelfth", "twelfths"],
  16: ["sixteenth", "sixteenths"],
  20: ["twentieth", "twentieths"],
  32: ["thirty-second", "thirty-seconds"],
  100: ["hundredth", "hundredths"],
};
const FRACTION_SIGNS: Readonly<Record<string, string>> = {
  "½": "1/2",
  "⅓": "1/3",
  "⅔": "2/3",
  "¼": "1/4",
  "¾": "3/4",
  "⅕": "1/5",
  "⅛": "1/8",
  "⅜": "3/8",
  "⅝": "5/8",
  "⅞": "7/8",
};

/** Names that are followed by which of them it was, and words by which part. */
const RULERS =
  "Henry|Louis|Charles|George|Edward|James|William|Richard|Philip|Elizabeth|Mary|Catherine|Paul|Pius|Benedict|Leo|Gregory|Innocent|Napoleon|Nicholas|Alexander|Frederick|Ivan|Peter|Francis";
const NUMBERED = "War|Chapter|Part|Act|Scene|Volume|Book|Phase|Type|Level|Stage|Section|Mark|Title";
const ROMAN = "(?:X{1,3}|X{0,3}(?:I[XV]|V?I{1,3}|V))";

/** Groups of digits behind these words are said one by one. */
const ONE_BY_ONE = "call|dial|ring|phone|pin|code|zip|zip code|postcode|extension|password";

const TITLES: readonly (readonly [short: string, title: string])[] = [
  ["D[Rr]", "Doctor"],
  ["Prof", "Professor"],
  ["St", "Saint"],
  ["Mt", "Mount"],
  ["Gen", "General"],
  ["Col", "Colonel"],
  ["Capt", "Captain"],
  ["Lt", "Lieutenant"],
  ["Sgt", "Sergeant"],
  ["Sen", "Senator"],
  ["Gov", "Governor"],
  ["Rev", "Reverend"],
];

const STREETS: Readonly<Record<string, string>> = {
  St: "Street",
  Ave: "Avenue",
  Rd: "Road",
  Blvd: "Boulevard",
  Ln: "Lane",
  Dr: "Drive",
};

/** Before "no. 7" these make it a number, where "no." alone may end a sentence. */
const NUMBERED_THINGS =
  "room|house|flat|bus|tram|gate|platform|line|track|floor|chapter|item|lot|page|seat|table";

const ABBREVIATIONS: readonly Rule[] = [
  ...TITLES.map(([short, title]): Rule => [new RegExp(`\\b${short}\\.(?= \\p{Lu})`, "gu"), title]),
  [
    /(?<=\d[\p{Lu}\p{Ll}]{0,2} (?:\p{Lu}[\p{L}.]* )+|\p{Lu}\p{Ll}+ )(St|Ave|Rd|Blvd|Ln|Dr)\b\.?(?=,|$| (?!\p{Lu}))/gu,
    (_, short = "") => STREETS[short] ?? short,
  ],
  [/\bMr\./gi, "Mister"],
  [/\bMrs\./gi, "Missus"],
  [/\bMs\./gi, "Miss"],
  [/\bJr\./g, "Junior"],
  [/\bSr\./g, "Senior"],
  [/\bNos?\.(?= ?\d)/g, "number"],
  [new RegExp(`(?<=\\b(?:${NUMBERED_THINGS}) )nos?\\.(?= ?\\d)`, "gi"), "number"],
  [/\b[Pp]p\.(?= ?\d)/g, "pages"],
  [/\bp\.(?= ?\d)/g, "page"],
  [/\b[Ff]ig\.(?= ?\d)/g, "figure"],
  [/\b[Vv]ol\.(?= ?\d)/g, "volume"],
  [/\b[Ee]xt\.(?= ?\d)/g, "extension"],
  [/\bapt\.(?= ?\d)/gi, "apartment"],
  [/\bvs\./gi, "versus"],
  [/\be\.g\./gi, "for example"],
  [/\bi\.e\./gi, "that is"],
  [/\bapprox\./gi, "approximately"],
  [/\bdept\./gi, "department"],
  [/\b[Ee]tc\b(?:\.(?!$| \p{Lu}))?/gu, "et cetera"],
  [/\bInc\./g, "Incorporated"],
  [/\bLtd\./g, "Limited"],
  [/\b(24|9|50)\/(7|11|50)\b(?!\/)/g, "$1 $2"],
  ...MONTHS.map((month): Rule => {
    const short = `${month.slice(0, 3)}t?\\b\\.?`;
    const behindDay = String.raw`(?<=\b\d{1,2}(?:st|nd|rd|th)? )`;
    return [new RegExp(`\\b${short}(?= \\d)|${behindDay}${short}`, "g"), month];
  }),
  ...DAYS.map((day): Rule => [
    new RegExp(
      `\\b${day.slice(0, 3)}(?:s|rs?|nes)?\\.(?=,| )|\\b${day.slice(0, 3)}(?=, (?:${MONTH}))`,
      "g",
    ),
    day,
  ]),
];

const ADDRESSES: readonly Rule[] = [
  [
    /\b(?:https?:\/\/)?(?:www\.)?[\w-]+(?:\.[\w-]+)*@?[\w-]*(?:\.[a-z]{2,})+(?:\/[\w./-]*)?/gi,
    sayAddress,
  ],
];

const DATES: readonly Rule[] = [
  [
    /(?<![-\d])(\d{4})-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])(?![-\d])/g,
    (all, year = "", month = "", day = "") => sayDate(all, { year, month, day }),
  ],
  [/(?<![/\d])(\d{1,2})\/(\d{1,2})\/(\d{4}|\d{2})(?![/\d])/g, saySlashDate],
  [
    new RegExp(
      `\\b(${MONTH}) (\\d{1,2})(?=$|[,.;!?)–-]| (?:at|in|on|to|and|is|was|from|until|or|for|\\d{4})\\b)`,
      "g",
    ),
    (_, month = "", day = "") => `${month} ${toOrdinal(day)}`,
  ],
  [
    new RegExp(`\\b([Tt]he )?(\\d{1,2}) (?=(?:${MONTH})\\b)`, "g"),
    (_, the = "the ", day = "") => `${the}${toOrdinal(day)} of `,
  ],
];

const NUMBERS: readonly Rule[] = [
  [/(?<![\d:])([01]?\d|2[0-3]):([0-5]\d)(?![\d:])(?:\s?([ap])\.?m\b(\.?))?/gi, sayTime],
  [/\b(1[0-2]|[1-9])()\s?([ap])\.?m\b(\.?)/gi, sayTime],
  [/(?<=[-–]M)\.(?! *$)/g, ""],
  [/[½⅓⅔¼¾⅕⅛⅜⅝⅞]/g, (sign) => ` ${FRACTION_SIGNS[sign]}`],
  [/(?:(?<![\d./])(\d+) )?(?<![\d./])([1-9]\d?)\/([1-9]\d{0,2})(?![\d/])/g, sayFraction],
  [/(?<=^|[\s(])[-−](?=\d)/g, "minus "],
  [/(?<=\d),(?=\d{3}(?!\d))/g, ""],
  [
    /(?<![\d.-])(?:\+\d{1,3}[ .-]|1[.-])?(?:\(\d{2,5}\) ?|\d{2,5}[ .-])\d{3,4}[ .-]\d{4}(?![\d-])|(?<![\d.-])\d{3}-\d{4}(?![\d-])|(?<![\d.])\+\d{1,3}(?:[ .-]\d+)+|(?<![\d.-])\d{2,4}(?:-\d{2,4}){2,}(?![\d-])/g,
    sayGroups,
  ],
  [new RegExp(`(?<=\\b(?:${ONE_BY_ONE})(?: is)? )\\d{3,}\\b(?!\\.\\d)`, "gi"), sayDigits],
  [/(?<=\b[A-Z]{2} )\d{5}\b/g, sayDigits],
  [/(?<![\d.,/:-])0\d+(?![\d.,/:%-]*\d)/g, sayDigits],
  [/(?<![-\d])(\d+)\s?[-–]\s?(\d+)(?![-\d])/g, "$1 to $2"],
  [/(?<=[$£€]\d+(?:\.\d+)?)(k|K|m|M|b|B|bn)\b/g, (much) => ` ${MUCH[much]}`],
  [/([$£€])(\d+(?:\.\d+)?(?: (?:hundred|thousand|million|billion|trillion))+)\b/gi, sayMuchMoney],
  [
    /([$£€])(\d+(?:\.\d{1,2}(?!\d))?)/g,
    (all, sign = "", amount = "") => CURRENCIES[sign]?.say(amount) ?? all,
  ],
  [/(?<=\d)%/g, " percent"],
  [
    /(\b[Aa]n? )?(?<![\d.])((?:\d+\.)?\d+) ?(°[CF]?|km\/h|m\/s|m[²³]|[A-Za-z]{1,4})(?![\p{L}\d/'-])/gu,
    sayAmount,
  ],
  [
    /\b([1-9]\d{0,3})([A-Z])\b(?!-)/g,
    (_, digits = "", letter = "") => `${sayHouseNumber(digits)} ${letter}`,
  ],
  [/\b([A-Z]{1,3})-?(\d+)\b/g, "$1 $2"],
  [/(?<=\b(?:room|flight|highway|route|apartment|suite) )[1-9]\d\d\b/gi, sayHouseNumber],
  [
    new RegExp(`(?<=\\b(?:${RULERS}) )(?!I\\b)${ROMAN}\\b`, "g"),
    (roman) => `the ${toOrdinal(readRoman(roman))}`,
  ],
  [new RegExp(`(?<=\\b(?:${NUMBERED}) )${ROMAN}\\b`, "g"), (roman) => String(readRoman(roman))],
  [/(?<=\d)\s?×\s?(?=\d)/g, " by "],
  [/(?<=\d)\s?\+\s?(?=\d)/g, " plus "],
  [/(?<=\d)\s?÷\s?(?=\d)/g, " divided by "],
  [/(?<=\w)\s?=\s?(?=\w|minus)/g, " equals "],
  [/#(?=\d)/g, "number "],
  [/~(?=\d)/g, "about "],
  [/(?<=\s)&(?=\s)/g, "and"],
  [/(?<=\b(?:\p{Lu}))&(?=\p{Lu}\b)/gu, " and "],
  [
    /(?<![-\d.])([1-9]\d)(\d\d)(s?)\b(?![-.]\d)/g,
    (all, left = "", right = "", s = "") => sayYear(all, left, right, s),
  ],
  [/['’](?=\d0s\b)/g, ""],
  [/(?<![\d.])\d{13,}(?![\d.]*\d)/g, sayDigits],
  [/\d*(?:\.\d+)+/g, sayDecimal],
  [/(?<!\d)\d*0(?=s\b)/g, (decade) => toCardinal(decade).replace(/y$/, "ie")],
  [/(?<!\d)(\d+)(?:st|nd|rd|th)\b/g, (_, number = "") => toOrdinal(number)],
  [/(?<=[\p{L}])(?=\d)|(?<=\d)(?=\p{L})/gu, " "],
  [/\d+/g, (number) => toCardinal(number)],
];

const LETTERS: readonly Rule[] = [
  // Letters with full stops are spelled: U.S.A. is U-S-A; the stop of a sentence stays.
  [/\b(?:\p{L}\.){2,}(?= *$)/gu, (all) => all.replaceAll(".", "-").replace(/-$/, ".")],
  [
    /\b(?:\p{L}\. ?)+\p{L}\.(?=[\s,;:)'’])/gu,
    (all) => all.replaceAll(/\. ?/g, "-").replace(/-$/, ""),
  ],
  [/\b(\p{Lu})\.(?= \p{Lu})/gu, "$1"],
  // A name that is spelled has its own S: CDs, NASA's.
  [/(?<=[BCDFGHJ-NP-TV-Z])'?s\b/g, "'S"],
  [/\by(eah?)\b/gi, "ye'a"],
];

/** A sentence that is capitals throughout has words to read, not letters to spell. */
const SHOUTED: Rule = [
  /^(?=.*\p{Lu}{4})\P{L}*(?:\p{Lu}+\P{L}+){2}\p{Lu}[^\p{Ll}]*$/gsu,
  (all) => {
    const hasWords = (all.match(/\p{Lu}{2,}/gu) ?? []).every((word) => /[AEIOUY]/.test(word));
    return hasWords ? all.toLowerCase().replaceAll(/\bi\b/g, "I") : all;
  },
];

const RULES = [SHOUTED, ...ADDRESSES, ...ABBREVIATIONS, ...DATES, ...NUMBERS, ...LETTERS];

/** English text, a sentence at a time, as it is read aloud: what is no word is put into words. */
export function sayEnglish(text: string): string {
  return RULES.reduce(
    (spoken, [pattern, replacement]) =>
      typeof replacement === "string"
        ? spoken.replaceAll(pattern, replacement)
        : spoken.replaceAll(pattern, replacement),
    text,
  );
}

/** jane.doe@example.com is jane dot doe at example dot com; what has no known end or @ stays. */
function sayAddress(all: string): string {
  const isAddress =
    all.includes("@") || /^(https?:|www\.)|\.(com|org|net|edu|gov|io|dev|uk|de)(\/|$)/i.test(all);
  if (!isAddress) return all;
  return all
    .replace(/^https?:\/\//i, "")
    .replace(/^www\./i, "W-W-W dot ")
    .replace(/\/$/, "")
    .replaceAll(
      /\.(?:uk|io|de|eu)\b/gi,
      (end) => ` dot ${end.slice(1).toUpperCase().split("").join("-")}`,
    )
    .replaceAll("@", " at ")
    .replaceAll(".", " dot ")
    .replaceAll("/", " slash ")
    .replaceAll("_", " underscore ")
    .replaceAll("-", " dash ")
    .replaceAll(/ dash (?=W\b|[A-Z]\b)/g, "-")
    .replaceAll(/ +/g, " ");
}

/** 3:05 pm is 3 oh 5 P-M; 12:00 is 12 o'clock, 18:00 is 18 hundred. */
function sayTime(...[, hour, minute = "", half, stop = ""]: (string | undefined)[]): string {
  const suffix = half === undefined ? "" : ` ${half.toUpperCase()}-M${stop}`;
  const hours = String(Number(hour));
  if (minute === "" || (minute === "00" && suffix !== "")) return hours + suffix;
  if (minute === "00") return Number(hour) > 12 ? `${hours} hundred` : `${hours} o'clock`;
  return `${hours} ${minute.startsWith("0") ? `oh ${minute.slice(1)}` : minute}${suffix}`;
}

interface CalendarDate {
  readonly year: string;
  readonly month: string;
  readonly day: string;
}

/** 2026-11-25 is November twenty-fifth, 2026. */
function sayDate(all: string, { year, month, day }: CalendarDate): string {
  const name = MONTHS[Number(month) - 1];
  if (name === undefined || Number(day) < 1 || Number(day) > 31) return all;
  const century = Number(year) < 50 ? "20" : "19";
  return `${name} ${toOrdinal(day)}, ${year.length === 2 ? century + year : year}`;
}

/** The month comes first, as in the United States, unless there is no such month. */
function saySlashDate(...[all = "", first = "", second = "", year = ""]: string[]): string {
  const [month, day] = Number(first) > 12 ? [second, first] : [first, second];
  return sayDate(all, { year, month, day });
}

/** 2 3/4 is 2 and three quarters; 1/2 is one half, 7/15 is 7 over 15, 4/4 is 4 out of 4. */
function sayFraction(...[, whole, above = "", below = ""]: (string | undefined)[]): string {
  const before = whole === undefined ? "" : `${whole} and `;
  if (before === "" && Number(above) >= Number(below)) return `${above} out of ${below}`;
  const names = PARTS[below];
  if (names === undefined) return `${before}${above} over ${below}`;
  if (above === "1") return `${before === "" ? "one" : `${before}a`} ${names[0]}`;
  return `${before}${above} ${names[1]}`;
}

/** Digits one by one: 0142 is oh 1 4 2. */
function sayDigits(digits: string): string {
  return Array.from(digits, (digit) => (digit === "0" ? "oh" : digit)).join(" ");
}

/** A telephone number: group by group, 800 as a hundred. */
function sayGroups(number: string): string {
  const groups = number.match(/\d+/g) ?? [];
  const spoken = groups.map((group) =>
    /^[1-9]00$/.test(group) ? `${group[0]} hundred` : sayDigits(group),
  );
  return `${number.startsWith("+") ? "plus " : ""}${spoken.join(", ")}`;
}

/** 221 is 2 21, 205 is 2 oh 5, 1480 is 14 80; round and small ones stay. */
function sayHouseNumber(digits: string): string {
  if (digits.length < 3 || digits.endsWith("00")) return digits;
  const [left, right] = [digits.slice(0, -2), digits.slice(-2)];
  return right.startsWith("0") ? `${left} oh ${right.slice(1)}` : `${left} ${right}`;
}

/** 5 km is 5 kilometers, a 5 km run is a 5 kilometer run. */
function sayAmount(...[all = "", article, amount, unit = ""]: (string | undefined)[]): string {
  const names = Object.hasOwn(UNITS, unit) ? UNITS[unit] : undefined;
  if (names === undefined) return all;
  const [one, several] = names;
  return `${article ?? ""}${amount} ${amount === "1" || article !== undefined ? one : several}`;
}

const ROMAN_VALUES: Readonly<Record<string, number>> = { I: 1, V: 5, X: 10 };

function readRoman(roman: string): number {
  const values = Array.from(roman, (letter) => ROMAN_VALUES[letter] ?? 0);
  return values.reduce(
    (sum, value, at) => sum + (value < (values[at + 1] ?? 0) ? -value : value),
    0,
  );
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
  return `${amount} ${CURRENCIES[sign]?.units}`;
}

/** 3.14 is 3 point 1 4; in 1.2.3 every part is a number. */
function sayDecimal(number: string): string {
  const [whole = "", ...parts] = number.split(".");
  if (parts.length > 1) return [whole, ...parts].join(" point ");
  return `${whole || "zero"} point ${Array.from(parts[0] ?? "").join(" ")}`;
}

import { between, characters, choice, EMPTY, repeat, type Rule, sequence, text } from "./rules.js";

interface NumberBounds {
  readonly minimum: number | null;
  readonly maximum: number | null;
  /** Whether the bound itself is out. */
  readonly excludesMinimum: boolean;
  readonly excludesMaximum: boolean;
  readonly isInteger: boolean;
}

const GREATEST = 999_999_999_999_999;
const MAX_FRACTION_DIGITS = 12;
const DIGIT = characters(between("0", "9"));

/** Decimal digits of a bound that is 0 or more. */
interface Decimal {
  readonly whole: string;
  readonly fraction: string;
}

/** Numbers from `low` to `high`, both 0 or more. */
interface Span {
  readonly low: Decimal;
  readonly high: Decimal;
  readonly excludesLow: boolean;
  readonly excludesHigh: boolean;
  readonly isInteger: boolean;
}

/** Whether a number so far equals the bounds' first digits: then the next digit is bounded too. */
interface Place {
  readonly index: number;
  readonly onLow: boolean;
  readonly onHigh: boolean;
}

/** Numbers within bounds in plain notation, compared digit by digit; undefined where there is none. */
export function numberWithin(bounds: NumberBounds): Rule | undefined {
  const { minimum, maximum, excludesMinimum, excludesMaximum, isInteger } = bounds;
  const low = Math.max(minimum ?? -GREATEST, -GREATEST);
  const high = Math.min(maximum ?? GREATEST, GREATEST);
  if (low > high) return undefined;
  const positive =
    high >= 0
      ? spanRule({
          low: toDecimal(Math.max(0, low)),
          high: toDecimal(high),
          excludesLow: excludesMinimum && low >= 0,
          excludesHigh: excludesMaximum,
          isInteger,
        })
      : undefined;
  const negative =
    low < 0
      ? spanRule({
          low: toDecimal(Math.max(0, -high)),
          high: toDecimal(-low),
          excludesLow: high >= 0 || excludesMaximum,
          excludesHigh: excludesMinimum,
          isInteger,
        })
      : undefined;
  const rules = [positive, negative && sequence(text("-"), negative)];
  return choiceOf(rules.filter((rule) => rule !== undefined));
}

function toDecimal(value: number): Decimal {
  const plain = value.toString();
  const digits = plain.includes("e") ? value.toFixed(MAX_FRACTION_DIGITS) : plain;
  const [whole = "0", fraction = ""] = digits.split(".");
  return { whole, fraction: fraction.replace(/0+$/, "") };
}

function spanRule(span: Span): Rule | undefined {
  const { low, high } = span;
  const rules: Rule[] = [];
  for (let length = low.whole.length; length <= high.whole.length; length += 1) {
    const place = {
      index: 0,
      onLow: length === low.whole.length,
      onHigh: length === high.whole.length,
    };
    const rule = wholeDigits(span, length, place);
    if (rule !== undefined) rules.push(rule);
  }
  return choiceOf(rules);
}

function wholeDigits(span: Span, length: number, place: Place): Rule | undefined {
  const { index, onLow, onHigh } = place;
  if (index === length) return fractionPart(span, place);
  const least = index === 0 && length > 1 ? 1 : 0;
  if (!onLow && !onHigh) {
    const first = characters(between(`${least}`, "9"));
    const rest = repeat(DIGIT, length - index - 1, length - index - 1);
    return sequence(first, rest, fractionPart(span, place) ?? EMPTY);
  }
  const bounds = {
    low: onLow ? Number(span.low.whole[index]) : least,
    high: onHigh ? Number(span.high.whole[index]) : 9,
  };
  return eachDigit(bounds, place, (next) => wholeDigits(span, length, next));
}

function fractionPart(span: Span, place: Place): Rule | undefined {
  const start = { ...place, index: 0 };
  const whole = mayEnd(span, start) ? EMPTY : undefined;
  if (span.isInteger) return whole;
  const digits = fractionDigits(span, start, true);
  return choiceOf(
    [whole, digits && sequence(text("."), digits)].filter((rule) => rule !== undefined),
  );
}

function fractionDigits(span: Span, place: Place, isFirst: boolean): Rule | undefined {
  const { index, onLow, onHigh } = place;
  const left = MAX_FRACTION_DIGITS - index;
  if (!onLow && !onHigh) return repeat(DIGIT, isFirst ? 1 : 0, left);
  const end = !isFirst && mayEnd(span, place) ? EMPTY : undefined;
  const bounds = {
    low: onLow ? Number(span.low.fraction[index] ?? "0") : 0,
    high: onHigh ? Number(span.high.fraction[index] ?? "0") : 9,
  };
  const longer =
    left > 0 ? eachDigit(bounds, place, (next) => fractionDigits(span, next, false)) : undefined;
  return choiceOf([end, longer].filter((rule) => rule !== undefined));
}

/** Whether a number that ends here, with these fraction digits, is within the span. */
function mayEnd({ low, high, excludesLow, excludesHigh }: Span, { index, onLow, onHigh }: Place) {
  const equalsLow = onLow && index >= low.fraction.length;
  if (onLow && (!equalsLow || excludesLow)) return false;
  return !(onHigh && index >= high.fraction.length && excludesHigh);
}

/** A digit within bounds and what may follow it: on a bound, or free of both. */
function eachDigit(
  { low, high }: { readonly low: number; readonly high: number },
  { index, onLow, onHigh }: Place,
  follow: (next: Place) => Rule | undefined,
): Rule | undefined {
  const rules: Rule[] = [];
  const add = (from: number, to: number, next: Omit<Place, "index">) => {
    const rest = from <= to ? follow({ index: index + 1, ...next }) : undefined;
    if (rest !== undefined) rules.push(sequence(characters(between(`${from}`, `${to}`)), rest));
  };
  if (low === high) add(low, high, { onLow, onHigh });
  else {
    if (onLow) add(low, low, { onLow, onHigh: false });
    if (onHigh) add(high, high, { onLow: false, onHigh });
    add(onLow ? low + 1 : low, onHigh ? high - 1 : high, { onLow: false, onHigh: false });
  }
  return choiceOf(rules);
}

function choiceOf(rules: readonly Rule[]): Rule | undefined {
  return rules.length === 0 ? undefined : choice(...rules);
}

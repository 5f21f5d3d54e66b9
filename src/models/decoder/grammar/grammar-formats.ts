/** Patterns of the string formats that are held to; each keeps to a safe part of its format. */

const DATE =
  "\\d{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\\d|30)|02-(?:0[1-9]|1\\d|2[0-8]))";
const TIME =
  "(?:[01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(?:\\.\\d{1,6})?(?:Z|[+-](?:[01]\\d|2[0-3]):[0-5]\\d)";
const LABEL = "[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,20}[a-zA-Z0-9])?";
const HOST = `${LABEL}(?:\\.${LABEL}){0,4}\\.[a-zA-Z]{2,10}`;
const BYTE = "(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)";

const FORMATS: Readonly<Record<string, string>> = {
  date: DATE,
  time: TIME,
  "date-time": `${DATE}T${TIME}`,
  duration:
    "P(?:\\d{1,6}W|\\d{1,6}D(?:T\\d{1,6}H)?|T\\d{1,6}[HMS]|T\\d{1,6}H\\d{1,6}M(?:\\d{1,6}S)?)",
  email: `[A-Za-z0-9_+-]{1,32}(?:\\.[A-Za-z0-9_+-]{1,16}){0,2}@${HOST}`,
  hostname: HOST,
  ipv4: `${BYTE}(?:\\.${BYTE}){3}`,
  ipv6: "(?:[0-9a-f]{1,4}:){7}[0-9a-f]{1,4}",
  uuid: "[0-9a-f]{8}-[0-9a-f]{4}-[1-5][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}",
  uri: `https?://${HOST}(?:/[A-Za-z0-9._~+-]{0,64}){0,16}(?:\\?[A-Za-z0-9._~=&+-]{0,256})?`,
};

/** Undefined for a format that is only a note, as JSON Schema lets every format be. */
export function formatPattern(format: string): string | undefined {
  return Object.hasOwn(FORMATS, format) ? `^${FORMATS[format]}$` : undefined;
}

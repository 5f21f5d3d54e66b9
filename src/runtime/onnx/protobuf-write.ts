/** Of a whole number below 2^53. */
function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128);
  return Buffer.from([...bytes, rest]);
}

/** A field with a number. */
export function numberField(field: number, value: number): Buffer {
  return Buffer.concat([varint(field * 8), varint(value)]);
}

/** Tag and length of a field of `byteLength` bytes. */
export function bytesHeader(field: number, byteLength: number): Buffer {
  return Buffer.concat([varint(field * 8 + 2), varint(byteLength)]);
}

/** A field with a message, bytes or text. */
export function bytesField(field: number, ...content: readonly (Buffer | string)[]): Buffer {
  const bytes = Buffer.concat(content.map((part) => Buffer.from(part)));
  return Buffer.concat([bytesHeader(field, bytes.length), bytes]);
}

import { JobError } from "../core/errors.js";

/** One part of an id; no leading dot, so neither `..` nor the store's own files can be named. */
const PART = /^[A-Za-z0-9_-][A-Za-z0-9._-]{0,199}$/;
const MAX_PARTS = 8;

/** Returns the id when it is safe as a key and as a relative path; throws `invalid_value` otherwise. */
export function checkedId(id: string): string {
  const parts = id.split("/");
  if (parts.length <= MAX_PARTS && parts.every((part) => PART.test(part))) return id;
  throw new JobError(
    "invalid_value",
    `artifact id must be 1 to ${MAX_PARTS} parts of letters, digits and ._- joined by /, got ${JSON.stringify(id.slice(0, 200))}`,
  );
}

/** Returns the prefix when it names a folder: a checked id with a trailing slash. */
export function checkedPrefix(prefix: string): string {
  if (!prefix.endsWith("/"))
    throw new JobError(
      "invalid_value",
      `artifact prefix must end in /, got ${JSON.stringify(prefix.slice(0, 200))}`,
    );
  checkedId(prefix.slice(0, -1));
  return prefix;
}

/** The command was given what it does not take: exit code 2. The message says what, the value and the limit. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

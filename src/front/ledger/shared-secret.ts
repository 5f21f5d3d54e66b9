import type { Database } from "./database/database.js";

/** A key of 32 random bytes that all replicas share: the first one to ask makes it. */
export async function readSharedSecret(
  { kysely }: Database,
  name: string,
  randomBytes: (byteLength: number) => Uint8Array,
): Promise<Uint8Array> {
  await kysely
    .insertInto("secrets")
    .values({ name, value: randomBytes(32) })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  const { value } = await kysely
    .selectFrom("secrets")
    .select("value")
    .where("name", "=", name)
    .executeTakeFirstOrThrow();
  return value;
}

import { describe, expect, it } from "vitest";
import { createDb, type Db, type Sql, sql } from "#framemill/front/ledger/database/sql.js";

/** A database of one session that notes what it is asked, and fails at what matches `failing`. */
function createNoted(failing = /^never$/) {
  const asked: string[] = [];
  const released: boolean[] = [];
  const db = createDb(async () => ({
    async query(text, values) {
      asked.push([text, ...values].join(" | "));
      if (failing.test(text)) throw new Error(`refused: ${text}`);
      return { rows: [] };
    },
    release: (broken) => void released.push(broken),
  }));
  return { db, asked, released };
}

async function render(statement: Sql): Promise<string> {
  const { db, asked } = createNoted();
  await statement.execute(db);
  return asked.join("\n");
}

describe("a statement", () => {
  it("numbers its values in the order in which they stand, those of its pieces included", async () => {
    const piece = sql`b = ${"two"} AND c = ${3}`;
    expect(await render(sql`SELECT ${"one"} WHERE ${piece} LIMIT ${4}`)).toBe(
      "SELECT $1 WHERE b = $2 AND c = $3 LIMIT $4 | one | two | 3 | 4",
    );
  });

  it("quotes names and what stands in its text", async () => {
    const names = sql.join([sql.ref("jobs.id"), sql.ref('a"b')]);
    expect(await render(sql`SELECT ${names}, ${sql.lit("it's")}, ${sql.lit(0.5)}`)).toBe(
      `SELECT "jobs"."id", "a""b", 'it''s', 0.5`,
    );
    expect(await render(sql`IN (${sql.join(["x", "y"])})`)).toBe("IN ($1, $2) | x | y");
  });
});

describe("a transaction", () => {
  const insert = async (db: Db) => await sql`INSERT ${1}`.execute(db);

  it("commits what was done over one session, which goes back to the pool", async () => {
    const { db, asked, released } = createNoted();
    await db.transaction(insert);
    expect(asked).toEqual(["BEGIN", "INSERT $1 | 1", "COMMIT"]);
    expect(released).toEqual([false]);
  });

  it("rolls back where its work throws, and throws the same", async () => {
    const { db, asked, released } = createNoted(/^INSERT/);
    await expect(db.transaction(insert)).rejects.toThrow("refused: INSERT $1");
    expect(asked.at(-1)).toBe("ROLLBACK");
    expect(released).toEqual([false]);
  });

  it("gives nobody else a session that could not be rolled back", async () => {
    const { db, released } = createNoted(/^(INSERT|ROLLBACK)/);
    await expect(db.transaction(insert)).rejects.toThrow("refused: INSERT $1");
    expect(released).toEqual([true]);
  });
});

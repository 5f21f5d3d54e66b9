/** Runs statements: each over any session of a pool, or all over one session or in one transaction. */
export interface Db {
  query(text: string, values: readonly unknown[]): Promise<{ readonly rows: unknown[] }>;
  /** Runs `work` over one session. */
  session<Result>(work: (session: Db) => Promise<Result>): Promise<Result>;
  /** Commits what `work` did; where it throws, nothing has happened. */
  transaction<Result>(work: (trx: Db) => Promise<Result>): Promise<Result>;
}

/** A session that was taken from a pool. */
export interface Session extends Pick<Db, "query"> {
  /** `broken`: nobody may have it after this one. */
  release(broken: boolean): void;
}

/** Statements over the sessions that `connect` takes from a pool. */
export function createDb(connect: () => Promise<Session>): Db {
  const db: Db = {
    query: async (text, values) => await db.session((one) => one.query(text, values)),
    async session(work) {
      const session = await connect();
      let broken = false;
      const breakOff = () => (broken = true);
      try {
        return await work(overOne(session, breakOff));
      } finally {
        session.release(broken);
      }
    },
    transaction: async (work) => await db.session((one) => one.transaction(work)),
  };
  return db;
}

function overOne(session: Session, breakOff: () => void): Db {
  const own: Db = {
    query: async (text, values) => await session.query(text, values),
    session: async (work) => await work(own),
    async transaction(work) {
      await session.query("BEGIN", []);
      try {
        const result = await work(own);
        await session.query("COMMIT", []);
        return result;
      } catch (error) {
        await session.query("ROLLBACK", []).catch(breakOff);
        throw error;
      }
    },
  };
  return own;
}

/** A statement, or a piece of one: its values go to the database as parameters. */
export class Sql<Row = unknown> {
  readonly parts: readonly string[];
  /** Between the parts; a piece of SQL among them is put in as it is. */
  readonly values: readonly unknown[];

  constructor(parts: readonly string[], values: readonly unknown[]) {
    this.parts = parts;
    this.values = values;
  }

  async execute(db: Db): Promise<{ readonly rows: Row[] }> {
    const values: unknown[] = [];
    // The type of the rows is the statement's own word.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    return (await db.query(render(this, values), values)) as { readonly rows: Row[] };
  }
}

/** Numbers the parameters in the order in which they stand, and adds them to `numbered`. */
function render({ parts, values }: Sql, numbered: unknown[]): string {
  return parts.reduce((text, part, index) => {
    const value = values[index - 1];
    const put = value instanceof Sql ? render(value, numbered) : `$${numbered.push(value)}`;
    return `${text}${put}${part}`;
  });
}

/** Of a template with values and pieces of SQL. */
export function sql<Row = unknown>(
  parts: TemplateStringsArray,
  ...values: readonly unknown[]
): Sql<Row> {
  return new Sql(parts, values);
}

/** As it is written. */
sql.raw = (text: string): Sql => new Sql([text], []);

/** A name, or several with dots between them. */
sql.ref = (name: string): Sql => sql.raw(`"${name.replaceAll('"', '""').replaceAll(".", '"."')}"`);

/** A value that stands in the statement itself, where the plan is to depend on it. */
sql.lit = (value: string | number): Sql =>
  sql.raw(typeof value === "number" ? String(value) : `'${value.replaceAll("'", "''")}'`);

/** One or more values or pieces of SQL. */
sql.join = (values: readonly unknown[], separator = ", "): Sql =>
  new Sql(["", ...values.slice(1).map(() => separator), ""], values);

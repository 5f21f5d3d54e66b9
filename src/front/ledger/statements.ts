import { readFileSync } from "node:fs";
import type { Db } from "./database/sql.js";

/** Runs the statement over a connection or within a transaction; resolves to its rows. */
export type Statement<Values, Row> = (db: Db, values: Values) => Promise<Row[]>;

/**
 * Reads `sql/<name>.sql`: one statement whose parameters are named `:like_this`, as in psql. Its `values`
 * have the same names as `likeThis`. A session prepares it at its first use, like every statement.
 */
export function readStatement<Values extends object, Row>(name: string): Statement<Values, Row> {
  const source = readFileSync(new URL(`./sql/${name}.sql`, import.meta.url), "utf8");
  const { text, parameters } = translate(source);
  return async (db, values) => {
    const given = new Map<string, unknown>(Object.entries(values));
    const numbered = parameters.map((parameter) => {
      const value = given.get(parameter);
      if (value === undefined) throw new Error(`${name}.sql has no value for ${parameter}`);
      return value;
    });
    // The type of the rows is the file's own word.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    return (await db.query(text, numbered)).rows as Row[];
  };
}

/** Without comments, and with `$1`, `$2` … for its parameters in the order of their first use. */
function translate(source: string): { text: string; parameters: readonly string[] } {
  const parameters: string[] = [];
  const text = source
    .replaceAll(/--.*$/gm, "")
    .replaceAll(/(?<!:):([a-z]\w*)/g, (_, parameter: string) => {
      const name = parameter.replaceAll(/_(\w)/g, (__, letter: string) => letter.toUpperCase());
      if (!parameters.includes(name)) parameters.push(name);
      return `$${parameters.indexOf(name) + 1}`;
    });
  return { text: text.trim().replace(/;$/, ""), parameters };
}

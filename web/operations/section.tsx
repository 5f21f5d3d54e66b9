import type { ComponentChildren } from "preact";

export interface SectionProps {
  readonly title: string;
  readonly about?: string;
  readonly children: ComponentChildren;
}

/** A titled part of the dashboard. */
export function Section({ title, about, children }: SectionProps) {
  return (
    <section class="part" aria-label={title}>
      <h2>{title}</h2>
      {about !== undefined && <p class="help">{about}</p>}
      {children}
    </section>
  );
}

export interface Column<Row> {
  readonly name: string;
  readonly cell: (row: Row) => ComponentChildren;
  readonly isNumber?: boolean;
}

export interface TableProps<Row> {
  /** What the table shows, for those who hear it. */
  readonly caption: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
  /** Said where there are no rows. */
  readonly none: string;
}

/** A table that becomes a list of cards where the screen is narrow. */
export function Table<Row>({ caption, columns, rows, keyOf, none }: TableProps<Row>) {
  if (rows.length === 0) return <p class="muted">{none}</p>;
  return (
    // Cards are no table to a browser: the roles say what it is.
    <table class="rows" role="table">
      <caption class="hidden">{caption}</caption>
      <thead role="rowgroup">
        <tr role="row">
          {columns.map(({ name, isNumber }) => (
            <th
              key={name}
              role="columnheader"
              scope="col"
              class={isNumber === true ? "number" : undefined}
            >
              {name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody role="rowgroup">
        {rows.map((row) => (
          <tr key={keyOf(row)} role="row">
            {columns.map(({ name, cell, isNumber }) => (
              <td
                key={name}
                role="cell"
                data-name={name}
                class={isNumber === true ? "number" : undefined}
              >
                {cell(row)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

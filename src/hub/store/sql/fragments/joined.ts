import { getTableColumns, type PgTable } from '../../core/drizzle.ts';
import type { Columns } from '../../core/statement.ts';

/** Columns of a table of a LEFT JOIN, under names with the alias of the table, such as `w.id`. */
type JoinedColumns<
  Table extends PgTable,
  Alias extends string,
  Names extends keyof Table['$inferSelect'] & string,
> = {
  [Name in Names as `${Alias}.${Name}`]: Table['$inferSelect'][Name] | null;
};

/** The part of a statement and of its rows that belongs to one table of a LEFT JOIN. */
export interface Joined<
  Table extends PgTable,
  Alias extends string,
  Names extends keyof Table['$inferSelect'] & string,
> {
  /** The SELECT list. */
  readonly columns: string;
  /** The part of a row; null: the table has no row, so that the first column is null. */
  readonly of: (row: JoinedColumns<Table, Alias, Names>) => Columns<Table, Names> | null;
}

/** The columns that a Joined adds to a row. */
export type RowOf<Part extends { of: (row: never) => unknown }> = Parameters<Part['of']>[0];

/** @param names columns, of which the first is never null in the table */
export function joined<
  Table extends PgTable,
  Alias extends string,
  Names extends keyof Table['$inferSelect'] & string,
>(table: Table, alias: Alias, names: readonly Names[]): Joined<Table, Alias, Names> {
  const known = getTableColumns(table);
  const keys = names.map((name) => [name, `${alias}.${name}` as const] as const);
  const [, first] = keys[0] ?? [];
  return {
    columns: keys.map(([name, key]) => `${alias}.${known[name]?.name} AS "${key}"`).join(', '),
    of(row) {
      const values: Record<string, unknown> = row;
      if (first === undefined || values[first] === null) return null;
      return Object.fromEntries(keys.map(([name, key]) => [name, values[key]])) as Columns<Table, Names>;
    },
  };
}

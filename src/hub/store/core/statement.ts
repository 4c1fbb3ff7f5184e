import { getTableColumns, type PgTable } from './drizzle.ts';

/**
 * A statement as SQL text with named parameters. `Parameters` and `Row` are types only: the types of the values by
 * parameter name, and of a row of the result.
 */
export interface Statement<Parameters extends object, Row> {
  /** Name under which each connection prepares the statement. Unique. null: it is not prepared. */
  readonly name: string | null;
  /** The SQL text, with `$1`, `$2` … for the parameters. */
  readonly text: string;
  /** Names of the parameters, in the order of their numbers. */
  readonly parameters: readonly (keyof Parameters & string)[];
  /** Never set. Ties the type of a row to the statement. */
  readonly row?: Row;
}

/** A parameter: `:name`, but not the cast `::type`. */
const PARAMETER = /(?<![:\w]):([a-zA-Z]\w*)/g;

/**
 * Declares a statement. `text` names its parameters as `:name`. A statement is a constant of a module in `sql/`, because
 * each connection prepares it once.
 */
export function statement<Parameters extends object, Row = never>(
  name: string,
  text: string,
): Statement<Parameters, Row> {
  const parameters: string[] = [];
  const numbered = text.replace(PARAMETER, (_, parameter: string) => {
    if (!parameters.includes(parameter)) parameters.push(parameter);
    return `$${parameters.indexOf(parameter) + 1}`;
  });
  return { name, text: numbered, parameters: parameters as (keyof Parameters & string)[] };
}

/** Maximum number of prepared texts of an assembled statement, so that they do not fill the server. */
const MAX_TEXTS = 400;

/**
 * Declares a statement whose text depends on its use, such as on the filters of a list. The result returns the
 * statement of a text, which must be assembled from constants. Texts beyond a limit are not prepared.
 */
export function assembled<Parameters extends object, Row = never>(
  name: string,
): (text: string) => Statement<Parameters, Row> {
  const known = new Map<string, Statement<Parameters, Row>>();
  return (text) => {
    const found = known.get(text);
    if (found !== undefined) return found;
    const added = statement<Parameters, Row>(`${name}_${known.size}`, text);
    if (known.size >= MAX_TEXTS) return { ...added, name: null };
    known.set(text, added);
    return added;
  };
}

/**
 * The values of a statement's parameters, in the order of their numbers.
 * @throws TypeError if a value is missing, which PostgreSQL would read as NULL
 */
export const valuesOf = <Parameters extends object>(
  { name: statementName, parameters }: Statement<Parameters, unknown>,
  values: Parameters,
): unknown[] =>
  parameters.map((name) => {
    const value = values[name];
    if (value === undefined)
      throw new TypeError(`failed to run ${statementName}: the parameter ${name} has no value`);
    return value;
  });

/** A row of the result of a statement. */
export type ResultRow<Declared> = Declared extends Statement<infer _, infer Row> ? Row : never;

/** A row with these columns of a table, under the names of the schema. */
export type Columns<Table extends PgTable, Names extends keyof Table['$inferSelect']> = Pick<
  Table['$inferSelect'],
  Names
>;

/**
 * Columns of a table for a SELECT list, under the names of the schema: `d.tenant_id AS "tenantId"`.
 * @param alias the table's alias in the statement
 */
export function columns<Table extends PgTable>(
  table: Table,
  alias: string,
  names: readonly (keyof Table['$inferSelect'] & string)[],
): string {
  const known = getTableColumns(table);
  return names.map((name) => `${alias}.${known[name]?.name} AS "${name}"`).join(', ');
}

import pg from 'pg';

/**
 * A prepared statement whose columns are asked for once a connection. pg asks at each execution, and both sides then work
 * on a description of every column, for one row as much as for a hundred. PostgreSQL holds a prepared statement to its
 * columns: it fails rather than answer others.
 */

/** What pg's Result makes of a description of columns; empty: the statement answers none. */
interface Columns {
  readonly fields?: readonly unknown[];
  readonly _parsers?: readonly unknown[];
  readonly _prebuiltEmptyResultObject?: object | null;
}

interface Connection {
  describe(message: object): void;
}

/** What pg's Query has, which its types leave out. */
interface PgQuery extends pg.Submittable {
  name: string;
  types: pg.CustomTypesConfig;
  readonly _result: { -readonly [Name in keyof Required<Columns>]: Required<Columns>[Name] } & {
    _types: pg.CustomTypesConfig;
  };
  _accumulateRows: boolean;
  hasBeenParsed(connection: Connection): boolean;
  prepare(connection: Connection): void;
  handleCommandComplete(message: unknown, connection: Connection): void;
}

interface NamedStatement {
  readonly name: string;
  readonly text: string;
  readonly values: readonly unknown[];
  readonly types: pg.CustomTypesConfig;
}

type Callback = (error: Error | null, result: pg.QueryResult) => void;

const Query = pg.Query as unknown as new (
  text: string,
  values: readonly unknown[],
  callback: Callback,
) => PgQuery;

/** Of each connection, the columns of its statements by their names. */
const known = new WeakMap<Connection, Map<string, Columns>>();
/** The connections, without a voice for this one question. */
const undescribed = new WeakMap<Connection, Connection>();

function columnsOn(connection: Connection): Map<string, Columns> {
  const columns = known.get(connection) ?? new Map<string, Columns>();
  known.set(connection, columns);
  return columns;
}

function withoutDescribe(connection: Connection): Connection {
  const silent =
    undescribed.get(connection) ??
    (Object.create(connection, { describe: { value: () => undefined } }) as Connection);
  undescribed.set(connection, silent);
  return silent;
}

class PreparedQuery extends Query {
  constructor({ name, text, values, types }: NamedStatement, callback: Callback) {
    // By its parts: of an object, pg first makes a copy, property by property, which costs more than the rest of it.
    super(text, values, callback);
    this.name = name;
    this.types = types;
    this._result._types = types;
  }

  override prepare(connection: Connection): void {
    const columns = this.hasBeenParsed(connection) ? columnsOn(connection).get(this.name) : undefined;
    if (columns === undefined) {
      super.prepare(connection);
      return;
    }
    Object.assign(this._result, columns);
    this._accumulateRows = true;
    super.prepare(withoutDescribe(connection));
  }

  override handleCommandComplete(message: unknown, connection: Connection): void {
    super.handleCommandComplete(message, connection);
    const columns = columnsOn(connection);
    if (columns.has(this.name)) return;
    const { fields, _parsers, _prebuiltEmptyResultObject } = this._result;
    columns.set(this.name, { fields, _parsers, _prebuiltEmptyResultObject });
  }
}

/** Runs a statement under its name, prepared the first time on each connection. */
export function runPrepared(client: pg.ClientBase, statement: NamedStatement): Promise<pg.QueryResult> {
  return new Promise((resolve, reject) => {
    const callback: Callback = (error, result) => (error === null ? resolve(result) : reject(error));
    client.query(new PreparedQuery(statement, callback));
  });
}

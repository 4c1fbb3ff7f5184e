/**
 * The floor of the benches of the API: only fastify and pg. For each request, it runs the same statements as Berth, and
 * responds with as many bytes of the same form, from the rows that it read. It uses the V8 options that the chart sets for
 * the API, and keeps idle connections as Berth does.
 *
 *   node floor-server.ts SETTINGS_FILE
 */
import { readFileSync } from 'node:fs';
import { fastify } from 'fastify';
import pg from 'pg';
import { uuidv7 } from '../../../src/domain/core/id.ts';
import { type Script, type ScriptStatement, valuesFor } from './floor-script.ts';

export interface FloorRoute {
  readonly method: 'GET' | 'POST';
  readonly url: string;
  readonly status: number;
  readonly script: Script;
  /** A deployment as Berth returns it. Members that are not columns of the row are constant. */
  readonly answer: Readonly<Record<string, unknown>>;
  /** Whether the response is a list of the rows. */
  readonly list: boolean;
}

export interface FloorSettings {
  readonly databaseUrl: string;
  /** The tenant that row-level security allows in each connection. Berth's connections remember it between reads, too. */
  readonly tenantId: string;
  readonly poolSize: number;
  readonly routes: readonly FloorRoute[];
}

type Row = Record<string, unknown>;

/** Members of the response that are columns of the row. */
const COLUMNS = [
  'id',
  'tenant_id',
  'name',
  'source',
  'source_revision_config',
  'created_at',
  'updated_at',
  'status',
  'latest_revision_id',
  'active_revision_id',
  'image_version',
  'generation',
  'tracing_project_id',
];

/** The name of a column in the row. Earlier versions return the name in the database. */
const inRow = (column: string) => column.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
const MEMBERS = COLUMNS.map((column) => [column, inRow(column)] as const);

function answerOf(template: FloorRoute['answer'], row: Row): Row {
  const answer: Row = { ...template };
  for (const [column, member] of MEMBERS) answer[column] = row[member in row ? member : column];
  return answer;
}

/** Names of prepared statements, by their text. */
const names = new Map<string, string>();
function nameOf({ text, named }: ScriptStatement): string | undefined {
  if (!named) return undefined;
  const name = names.get(text) ?? `floor_${names.size}`;
  names.set(text, name);
  return name;
}

/** Runs the script on one connection. Returns the rows of the last statement, except COMMIT. */
async function runScript(
  pool: pg.Pool,
  script: Script,
  request: { name: string | null; pathId: string | null },
): Promise<Row[]> {
  const client = await pool.connect();
  const ids = new Map<number, string>();
  let rows: Row[] = [];
  try {
    for (const statement of script) {
      const { text } = statement;
      if (statement.values === null) {
        await client.query(text);
        continue;
      }
      const values = valuesFor(statement, request, ids, uuidv7);
      const name = nameOf(statement);
      ({ rows } = await client.query({ text, values, ...(name === undefined ? {} : { name }) }));
    }
    client.release();
    return rows;
  } catch (error) {
    client.release(true);
    throw error;
  }
}

const settings = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8')) as FloorSettings;
const pool = new pg.Pool({
  connectionString: settings.databaseUrl,
  max: settings.poolSize,
  application_name: 'floor',
  idleTimeoutMillis: 60_000,
  options: `-c berth.tenant_id=${settings.tenantId}`,
});
const app = fastify();

for (const { method, url, status, script, answer, list } of settings.routes) {
  app.route<{ Params: { id?: string }; Body: { name?: string } | undefined }>({
    method,
    url,
    handler: async (request, reply) => {
      const rows = await runScript(pool, script, {
        name: request.body?.name ?? null,
        pathId: request.params.id ?? null,
      });
      reply.code(status);
      if (list) return { resources: rows.map((row) => answerOf(answer, row)), offset: rows.length };
      return answerOf(answer, rows[0] ?? {});
    },
  });
}

process.on('SIGTERM', () => process.exit(0));
const url = await app.listen({ host: '127.0.0.1', port: 0 });
console.log(JSON.stringify({ msg: 'floor is ready', url }));

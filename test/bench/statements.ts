/** Finds the most expensive statements of PostgreSQL during benches with `--profile`. */
import { withClient } from '../cluster/postgres.ts';
import { columns } from './report.ts';

/** Settings of a server that counts statements. It must be started by the run. */
export const COUNTING = { shared_preload_libraries: 'pg_stat_statements' } as const;

const MAX_STATEMENTS = 12;
const MAX_TEXT = 110;

interface Statement {
  readonly query: string;
  readonly calls: number;
  /** Mean time of a call in milliseconds. */
  readonly mean: number;
  /** Share of the time of all statements, from 0 to 1. */
  readonly share: number;
}

const COSTLIEST = `
  SELECT query, sum(calls)::int AS calls,
         sum(total_exec_time) / sum(calls) AS mean,
         sum(total_exec_time) / sum(sum(total_exec_time)) OVER () AS share
    FROM pg_stat_statements
   GROUP BY query
   ORDER BY share DESC
   LIMIT ${MAX_STATEMENTS}`;

const shortened = (query: string) => {
  const text = query.replaceAll(/\s+/g, ' ').trim();
  return text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)} …` : text;
};

const cells = ({ query, calls, mean, share }: Statement) => [
  `${(share * 100).toFixed(1)} %`,
  `${calls} × ${mean.toFixed(3)} ms`,
  shortened(query),
];

/**
 * The statements with the longest total time in all databases of the server, one line each.
 * @param url URL of an administrator
 */
async function costliestStatements(url: string): Promise<string> {
  const rows = await withClient(url, async (client) => {
    await client.query('CREATE EXTENSION IF NOT EXISTS pg_stat_statements');
    return (await client.query<Statement>(COSTLIEST)).rows;
  });
  return `Statements with the longest total time in this run:\n${columns(rows.map(cells))}`;
}

/**
 * A server that logs its most expensive statements before it stops.
 * @param log not standard output, which contains the results
 */
export function withStatementReport<T extends { readonly url: string; stop(): Promise<void> }>(
  postgres: T,
  log: (line: string) => void,
  costliest = costliestStatements,
): T {
  const stop = async () => {
    try {
      log(await costliest(postgres.url));
    } catch (error) {
      log(`failed to list the most expensive statements: ${(error as Error).message}`);
    } finally {
      await postgres.stop();
    }
  };
  return { ...postgres, stop };
}

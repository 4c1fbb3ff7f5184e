/** What cost PostgreSQL most while benches ran with `--profile`. */
import { withClient } from '../cluster/postgres.ts';
import { columns } from './report.ts';

/** Settings of a server that counts; it has to be one of our own. */
export const COUNTING = { shared_preload_libraries: 'pg_stat_statements' } as const;

const MOST = 12;
const LONGEST_TEXT = 110;

interface Statement {
  readonly query: string;
  readonly calls: number;
  /** Milliseconds of a call. */
  readonly mean: number;
  /** Of all statements, 0 to 1. */
  readonly share: number;
}

const COSTLIEST = `
  SELECT query, sum(calls)::int AS calls,
         sum(total_exec_time) / sum(calls) AS mean,
         sum(total_exec_time) / sum(sum(total_exec_time)) OVER () AS share
    FROM pg_stat_statements
   GROUP BY query
   ORDER BY share DESC
   LIMIT ${MOST}`;

const shortened = (query: string) => {
  const text = query.replaceAll(/\s+/g, ' ').trim();
  return text.length > LONGEST_TEXT ? `${text.slice(0, LONGEST_TEXT)} …` : text;
};

const cells = ({ query, calls, mean, share }: Statement) => [
  `${(share * 100).toFixed(1)} %`,
  `${calls} × ${mean.toFixed(3)} ms`,
  shortened(query),
];

/**
 * The statements that took longest in all, over every database of the server, a line each.
 * @param url of an administrator
 */
async function costliestStatements(url: string): Promise<string> {
  const rows = await withClient(url, async (client) => {
    await client.query('CREATE EXTENSION IF NOT EXISTS pg_stat_statements');
    return (await client.query<Statement>(COSTLIEST)).rows;
  });
  return `What took PostgreSQL longest in this run:\n${columns(rows.map(cells))}`;
}

/**
 * The server, which tells what took it longest before it stops.
 * @param log and not standard output, where results are
 */
export function tellingAtEnd<T extends { readonly url: string; stop(): Promise<void> }>(
  postgres: T,
  log: (line: string) => void,
  costliest = costliestStatements,
): T {
  const stop = async () => {
    try {
      log(await costliest(postgres.url));
    } catch (error) {
      log(`failed to tell what took PostgreSQL longest: ${(error as Error).message}`);
    } finally {
      await postgres.stop();
    }
  };
  return { ...postgres, stop };
}

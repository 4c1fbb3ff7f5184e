/** What cost PostgreSQL most while benches ran with `--profile`. */
import pg from 'pg';

/** Settings of a server that counts; it has to be one of our own. */
export const COUNTING = { shared_preload_libraries: 'pg_stat_statements' } as const;

const MOST = 12;
const LONGEST_TEXT = 110;

interface Statement {
  readonly query: string;
  readonly calls: number;
  /** Milliseconds of all calls. */
  readonly total: number;
  readonly mean: number;
  /** Of all statements, 0 to 1. */
  readonly share: number;
}

const COSTLIEST = `
  SELECT query, sum(calls)::int AS calls, sum(total_exec_time) AS total,
         sum(total_exec_time) / sum(calls) AS mean,
         sum(total_exec_time) / sum(sum(total_exec_time)) OVER () AS share
    FROM pg_stat_statements
   GROUP BY query
   ORDER BY total DESC
   LIMIT ${MOST}`;

const lineOf = ({ query, calls, mean, share }: Statement) => {
  const text = query.replaceAll(/\s+/g, ' ').trim();
  const shown = text.length > LONGEST_TEXT ? `${text.slice(0, LONGEST_TEXT)} …` : text;
  return `${(share * 100).toFixed(1).padStart(5)} %  ${String(calls).padStart(7)} × ${mean.toFixed(3)} ms  ${shown}`;
};

/**
 * The statements that took longest in all, over every database of the server, a line each.
 * @param url of an administrator
 */
export async function costliestStatements(url: string): Promise<string> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query('CREATE EXTENSION IF NOT EXISTS pg_stat_statements');
    const { rows } = await client.query<Statement>(COSTLIEST);
    return ['What took PostgreSQL longest:', ...rows.map(lineOf)].join('\n');
  } finally {
    await client.end();
  }
}

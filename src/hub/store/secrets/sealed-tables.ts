import type { Reader, Transaction } from '../core/database.ts';
import { SecretBoxError } from '../core/errors.ts';
import { integrationContext, type SecretBox, secretsContext, webhookContext } from './secret-box.ts';

/**
 * Lists the tables and columns with encrypted values, for the key rotation and the check at startup. All functions run
 * in the platform's scope.
 */

/** A row with its encrypted value, and the context of this value. */
interface SealedRow {
  id: string;
  tenantId: string;
  /** null: the value is not bound to a deployment. */
  deploymentId: string | null;
  keyId: string;
  sealed: Buffer;
}

interface SealedTable {
  /** Name of the table, with the column if the table has several encrypted columns. */
  readonly name: string;
  readonly table: string;
  /** The columns with the key id and the encrypted value. Null: the row has no encrypted value. */
  readonly keyId: string;
  readonly sealed: string;
  /** SQL of the id of the deployment. */
  readonly deploymentId: string;
  readonly context: (row: SealedRow) => string;
}

const TABLES: readonly SealedTable[] = [
  {
    name: 'secret_sets',
    table: 'secret_sets',
    keyId: 'key_id',
    sealed: 'sealed',
    deploymentId: 'deployment_id',
    context: ({ deploymentId, ...row }) => secretsContext({ ...row, deploymentId: deploymentId ?? '' }),
  },
  {
    name: 'integrations',
    table: 'integrations',
    keyId: 'key_id',
    sealed: 'sealed',
    deploymentId: 'NULL::uuid',
    context: integrationContext,
  },
  {
    name: 'integrations.webhook',
    table: 'integrations',
    keyId: 'webhook_key_id',
    sealed: 'webhook_sealed',
    deploymentId: 'NULL::uuid',
    context: webhookContext,
  },
];

/** Names of the tables (and columns) with encrypted values. */
export const SEALED_TABLES = TABLES.map(({ name }) => name);

function tableOf(name: string): SealedTable {
  const table = TABLES.find((each) => each.name === name);
  if (table === undefined) throw new Error(`failed to find encrypted values: no table ${name}`);
  return table;
}

const columns = (table: SealedTable) =>
  `id, tenant_id AS "tenantId", ${table.deploymentId} AS "deploymentId", ${table.keyId} AS "keyId", ${table.sealed} AS sealed`;

/** The plaintext; null when the value cannot be decrypted. */
function opened(box: SecretBox, table: SealedTable, row: SealedRow): Buffer | null {
  try {
    return box.open(row.sealed, row.keyId, table.context(row));
  } catch (error) {
    if (error instanceof SecretBoxError) return null;
    throw error;
  }
}

/** The result of a batch. */
export interface ResealedBatch {
  /** Number of rows that were encrypted again with the primary key. */
  readonly resealed: number;
  /** Ids of rows that could not be decrypted and were not changed. */
  readonly unreadable: readonly string[];
  /** Start of the next batch; null: this was the last batch. */
  readonly next: string | null;
}

/**
 * Encrypts up to `limit` values of a table again with the primary key. Locked rows are skipped, so that no transaction
 * waits for a rotation. A later pass finds the skipped rows.
 * @param after the `next` of the previous batch; null: from the beginning
 */
export async function resealBatch(
  transaction: Transaction,
  box: SecretBox,
  tableName: string,
  { after, limit }: { after: string | null; limit: number },
): Promise<ResealedBatch> {
  const table = tableOf(tableName);
  const rows = await transaction.query<SealedRow>(
    `SELECT ${columns(table)} FROM ${table.table}
     WHERE ${table.keyId} <> $1 AND ($2::uuid IS NULL OR id > $2) ORDER BY id LIMIT $3 FOR UPDATE SKIP LOCKED`,
    [box.primaryKeyId, after, limit],
  );
  const unreadable: string[] = [];
  for (const row of rows) {
    const plaintext = opened(box, table, row);
    if (plaintext === null) {
      unreadable.push(row.id);
      continue;
    }
    const { keyId, sealed } = box.seal(plaintext, table.context(row));
    await transaction.query(
      `UPDATE ${table.table} SET ${table.keyId} = $2, ${table.sealed} = $3 WHERE id = $1`,
      [row.id, keyId, sealed],
    );
  }
  return {
    resealed: rows.length - unreadable.length,
    unreadable,
    next: rows.length < limit ? null : (rows.at(-1)?.id ?? null),
  };
}

/** The number of values of a table that a key has encrypted. */
export interface KeyUse {
  readonly table: string;
  readonly keyId: string;
  readonly rows: number;
}

const USES = TABLES.map(
  ({ name, table, keyId }) =>
    `SELECT '${name}' AS "table", ${keyId} AS "keyId", count(*)::int AS rows FROM ${table}
     WHERE ${keyId} IS NOT NULL GROUP BY ${keyId}`,
).join(' UNION ALL ');

/** Counts the values per key. Reads the key id of every row. */
export function keyUses(reader: Reader): Promise<KeyUse[]> {
  return reader.query<KeyUse>(`SELECT * FROM (${USES}) AS uses ORDER BY "table", "keyId"`);
}

/** Stored responses for Idempotency-Keys whose hash was created with another key than the primary key. */
export interface KeyedAnswers {
  readonly keyId: string;
  readonly rows: number;
  /** Time at which the last of these responses expires. */
  readonly until: Date;
}

const ANSWERS = `
SELECT split_part(fingerprint, ':', 1) AS "keyId", count(*)::int AS rows, max(expires_at) AS until
FROM idempotency_keys WHERE expires_at > now() GROUP BY 1 HAVING split_part(fingerprint, ':', 1) <> $1 ORDER BY 1`;

/**
 * Counts the stored responses of other keys. Stored responses cannot be hashed again, because the bodies are not
 * stored. Stored responses expire within a day.
 */
export function answersOfOtherKeys(reader: Reader, box: SecretBox): Promise<KeyedAnswers[]> {
  return reader.query<KeyedAnswers>(ANSWERS, [box.primaryKeyId]);
}

/** A key that rows name and that cannot decrypt them. */
export interface UnusableKey {
  readonly table: string;
  readonly keyId: string;
  /**
   * `missing`: the key is not configured. `wrong`: the key is configured with different bytes than at the encryption.
   */
  readonly problem: 'missing' | 'wrong';
}

/** Number of sampled rows, so that one corrupted row does not look like a wrong key. */
const SAMPLE_ROWS = 5;

/** Finds the few keys of many rows with one index lookup per key, and uses the newest rows of each key as a sample. */
const sampleOf = (table: SealedTable) => `
WITH RECURSIVE used(key_id) AS (
  (SELECT min(${table.keyId}) FROM ${table.table})
  UNION ALL
  SELECT (SELECT min(t.${table.keyId}) FROM ${table.table} t WHERE t.${table.keyId} > used.key_id) FROM used WHERE used.key_id IS NOT NULL
)
SELECT sample.* FROM used CROSS JOIN LATERAL (
  SELECT ${columns(table)} FROM ${table.table} WHERE ${table.keyId} = used.key_id LIMIT ${SAMPLE_ROWS}) AS sample`;

async function unusableOf(reader: Reader, box: SecretBox, table: SealedTable): Promise<UnusableKey[]> {
  const sample = Map.groupBy(await reader.query<SealedRow>(sampleOf(table)), ({ keyId }) => keyId);
  return [...sample].flatMap(([keyId, rows]): UnusableKey[] => {
    if (rows.some((row) => opened(box, table, row) !== null)) return [];
    return [{ table: table.name, keyId, problem: box.keyIds.has(keyId) ? 'wrong' : 'missing' }];
  });
}

/** Keys that rows need and that this process does not have. The query is fast for any number of rows. */
export async function unusableKeys(reader: Reader, box: SecretBox): Promise<UnusableKey[]> {
  const found: UnusableKey[] = [];
  for (const table of TABLES) found.push(...(await unusableOf(reader, box, table)));
  return found;
}

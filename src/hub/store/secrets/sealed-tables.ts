import type { Reader, Transaction } from '../core/database.ts';
import { and, count, eq, gt, isNotNull, ne, type PgColumn, sql } from '../core/drizzle.ts';
import { SecretBoxError } from '../core/errors.ts';
import { idempotencyKeys, integrations, secretSets } from '../core/schema.ts';
import { integrationContext, type SecretBox, secretsContext, webhookContext } from './secret-box.ts';

/**
 * Lists the tables and columns with encrypted values, for the key rotation and the check at startup. All functions run
 * in the platform's scope.
 */

/** A row with its encrypted value, and the context of this value. */
interface SealedValue {
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
  readonly table: typeof secretSets | typeof integrations;
  /** The columns with the key id and the encrypted value. Null: the row has no encrypted value. */
  readonly keyId: PgColumn;
  readonly sealed: PgColumn;
  /** The column with the id of the deployment, if any. */
  readonly deploymentId: PgColumn | null;
  readonly context: (row: SealedValue) => string;
}

const TABLES: readonly SealedTable[] = [
  {
    name: 'secret_sets',
    table: secretSets,
    keyId: secretSets.keyId,
    sealed: secretSets.sealed,
    deploymentId: secretSets.deploymentId,
    context: ({ deploymentId, ...row }) => secretsContext({ ...row, deploymentId: deploymentId ?? '' }),
  },
  {
    name: 'integrations',
    table: integrations,
    keyId: integrations.keyId,
    sealed: integrations.sealed,
    deploymentId: null,
    context: integrationContext,
  },
  {
    name: 'integrations.webhook',
    table: integrations,
    keyId: integrations.webhookKeyId,
    sealed: integrations.webhookSealed,
    deploymentId: null,
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

/** The columns of a SealedValue. */
const valueColumns = ({ table, keyId, sealed, deploymentId }: SealedTable) => ({
  id: table.id,
  tenantId: table.tenantId,
  deploymentId: sql<string | null>`${deploymentId ?? sql`NULL::uuid`}`,
  keyId: sql<string>`${keyId}`,
  sealed: sql<Buffer>`${sealed}`,
});

/** The plaintext; null when the value cannot be decrypted. */
function opened(box: SecretBox, table: SealedTable, row: SealedValue): Buffer | null {
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
  const rows = await transaction.drizzle
    .select(valueColumns(table))
    .from(table.table)
    .where(and(ne(table.keyId, box.primaryKeyId), after === null ? undefined : gt(table.table.id, after)))
    .orderBy(table.table.id)
    .limit(limit)
    .for('update', { skipLocked: true });
  const unreadable: string[] = [];
  for (const row of rows) {
    const plaintext = opened(box, table, row);
    if (plaintext === null) {
      unreadable.push(row.id);
      continue;
    }
    const { keyId, sealed } = box.seal(plaintext, table.context(row));
    await transaction.drizzle.execute(
      sql`UPDATE ${table.table} SET ${sql.identifier(table.keyId.name)} = ${keyId}, ${sql.identifier(table.sealed.name)} = ${sealed}
        WHERE id = ${row.id}`,
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

/** Counts the values per key. Reads the key id of every row. */
export async function keyUses(reader: Reader): Promise<KeyUse[]> {
  const uses: KeyUse[] = [];
  for (const { name, table, keyId } of TABLES.toSorted((a, b) => a.name.localeCompare(b.name))) {
    const counted = await reader.drizzle
      .select({ keyId: sql<string>`${keyId}`, rows: count() })
      .from(table)
      .where(isNotNull(keyId))
      .groupBy(keyId)
      .orderBy(keyId);
    uses.push(...counted.map((use) => ({ table: name, ...use })));
  }
  return uses;
}

/** Stored responses for Idempotency-Keys whose hash was created with another key than the primary key. */
export interface KeyedAnswers {
  readonly keyId: string;
  readonly rows: number;
  /** Time at which the last of these responses expires. */
  readonly until: Date;
}

/**
 * Counts the stored responses of other keys. Stored responses cannot be hashed again, because the bodies are not
 * stored. Stored responses expire within a day.
 */
export async function answersOfOtherKeys(reader: Reader, box: SecretBox): Promise<KeyedAnswers[]> {
  const keyId = sql<string>`split_part(${idempotencyKeys.fingerprint}, ':', 1)`;
  const until = sql<Date>`max(${idempotencyKeys.expiresAt})`.mapWith(idempotencyKeys.expiresAt);
  return await reader.drizzle
    .select({ keyId, rows: count(), until })
    .from(idempotencyKeys)
    .where(gt(idempotencyKeys.expiresAt, sql`now()`))
    .groupBy(keyId)
    .having(ne(keyId, box.primaryKeyId))
    .orderBy(keyId);
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

/**
 * Finds the few keys of many rows with one index lookup per key, and uses some rows of each key as a sample. Each
 * step of the recursion finds the next key.
 */
async function sampleOf(reader: Reader, table: SealedTable): Promise<SealedValue[]> {
  const keyId = sql.identifier(table.keyId.name);
  const used = sql`WITH RECURSIVE used(key_id) AS (
    (SELECT min(${keyId}) FROM ${table.table})
    UNION ALL
    SELECT (SELECT min(t.${keyId}) FROM ${table.table} t WHERE t.${keyId} > used.key_id) FROM used
    WHERE used.key_id IS NOT NULL
  ) SELECT key_id FROM used WHERE key_id IS NOT NULL`;
  const keys = await reader.drizzle.execute<{ key_id: string }>(used);
  const samples: SealedValue[] = [];
  for (const { key_id: key } of keys.rows) {
    samples.push(
      ...(await reader.drizzle
        .select(valueColumns(table))
        .from(table.table)
        .where(eq(table.keyId, key))
        .limit(SAMPLE_ROWS)),
    );
  }
  return samples;
}

async function unusableOf(reader: Reader, box: SecretBox, table: SealedTable): Promise<UnusableKey[]> {
  const sample = Map.groupBy(await sampleOf(reader, table), ({ keyId }) => keyId);
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

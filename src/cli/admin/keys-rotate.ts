import { setTimeout as sleep } from 'node:timers/promises';
import { configuredBox, KEYS_MISSING } from '../../app/encryption.ts';
import type { Database } from '../../hub/store/core/database.ts';
import {
  answersOfOtherKeys,
  type KeyedAnswers,
  type KeyUse,
  keyUses,
  type ResealedBatch,
  resealBatch,
  SEALED_TABLES,
} from '../../hub/store/secrets/sealed-tables.ts';
import type { SecretBox } from '../../hub/store/secrets/secret-box.ts';
import { type Format, printed } from '../command/output.ts';
import { UsageError } from '../command/usage-error.ts';
import { withDatabase } from './database.ts';
import type { AdminSession } from './session.ts';

/** `berth keys rotate-encryption`: encrypts all secrets again with the first key of BERTH_ENCRYPTION_KEYS. */

/**
 * Further passes find rows that were locked or written during the first pass. If rows with an old key remain, a process
 * still uses the old setting.
 */
const MAX_PASSES = 5;
const PAUSE_MS = 500;
const STATEMENT_TIMEOUT_MS = 60_000;
const PROGRESS_EVERY_MS = 2_000;

/** The result. */
interface Outcome {
  readonly primary: string;
  readonly resealed: number;
  /** Rows that no configured key decrypts, by table. */
  readonly unreadable: Readonly<Record<string, readonly string[]>>;
  readonly uses: readonly KeyUse[];
  readonly answers: readonly KeyedAnswers[];
  /** Configured keys that are no longer needed. */
  readonly removable: readonly string[];
}

export interface RotateOptions {
  readonly dryRun: boolean;
  readonly batch: number;
  readonly output: Format;
}

/** One pass over a table, with a transaction for each batch. Returns the rows that cannot be decrypted. */
async function resealTable(
  database: Database,
  box: SecretBox,
  table: string,
  options: { limit: number; onBatch: (resealed: number) => void },
): Promise<string[]> {
  const unreadable: string[] = [];
  let after: string | null = null;
  for (;;) {
    const from = after;
    const batch: ResealedBatch = await database.platform.transaction((transaction) =>
      resealBatch(transaction, box, table, { after: from, limit: options.limit }),
    );
    options.onBatch(batch.resealed);
    unreadable.push(...batch.unreadable);
    if (batch.next === null) return unreadable;
    after = batch.next;
  }
}

const rowsOfOthers = (uses: readonly KeyUse[], primary: string) =>
  uses.filter(({ keyId }) => keyId !== primary).reduce((sum, { rows }) => sum + rows, 0);

function progress(total: number): (resealed: number) => void {
  let done = 0;
  let lastReport = performance.now();
  return (resealed) => {
    done += resealed;
    if (performance.now() - lastReport < PROGRESS_EVERY_MS) return;
    lastReport = performance.now();
    console.error(`${done} of about ${total} encrypted again`);
  };
}

/** Encrypts rows again until only rows that cannot be decrypted are left. */
async function reseal(database: Database, box: SecretBox, limit: number) {
  const readUses = () => database.platform.read(keyUses);
  const reportProgress = progress(rowsOfOthers(await readUses(), box.primaryKeyId));
  let resealed = 0;
  const onBatch = (count: number) => {
    resealed += count;
    reportProgress(count);
  };
  for (let pass = 1; ; pass += 1) {
    const unreadable: Record<string, string[]> = {};
    for (const table of SEALED_TABLES) {
      const found = await resealTable(database, box, table, { limit, onBatch });
      if (found.length > 0) unreadable[table] = found;
    }
    const left = rowsOfOthers(await readUses(), box.primaryKeyId);
    if (left <= Object.values(unreadable).flat().length || pass === MAX_PASSES)
      return { resealed, unreadable };
    await sleep(PAUSE_MS);
  }
}

async function outcomeOf(
  database: Database,
  box: SecretBox,
  done: Pick<Outcome, 'resealed' | 'unreadable'>,
): Promise<Outcome> {
  const { uses, answers } = await database.platform.read(async (reader) => ({
    uses: await keyUses(reader),
    answers: await answersOfOtherKeys(reader, box),
  }));
  const needed = new Set([box.primaryKeyId, ...[...uses, ...answers].map(({ keyId }) => keyId)]);
  return {
    primary: box.primaryKeyId,
    ...done,
    uses,
    answers,
    removable: [...box.keyIds].filter((id) => !needed.has(id)),
  };
}

function lines({ primary, resealed, uses, answers, removable }: Outcome, box: SecretBox): string[] {
  return [
    `Current encryption key: ${primary}. Rows encrypted again: ${resealed}.`,
    ...uses.map(
      ({ table, keyId, rows }) =>
        `${table}: ${rows} rows with ${keyId}${box.keyIds.has(keyId) ? '' : ' (not configured)'}`,
    ),
    ...answers.map(
      ({ keyId, rows, until }) =>
        `Idempotency-Keys: ${rows} hashed with ${keyId}; they expire by ${until.toISOString()}. Without the key, a request that is repeated before then gets a 409.`,
    ),
    `No longer needed: ${removable.length === 0 ? 'none' : removable.join(', ')}.`,
  ];
}

const SHOWN_IDS = 20;

/** Why some rows are not encrypted with the primary key, with next steps. */
function problems({ primary, uses, unreadable }: Outcome): string[] {
  const ids = Object.entries(unreadable).flatMap(([table, rows]) => rows.map((id) => `${table} ${id}`));
  const shown = `${ids.slice(0, SHOWN_IDS).join(', ')}${ids.length > SHOWN_IDS ? ', …' : ''}`;
  const others = rowsOfOthers(uses, primary) - ids.length;
  return [
    ...(ids.length > 0
      ? [
          `${ids.length} rows cannot be decrypted (${shown}); next: configure their key and run this command again, ` +
            `or set their values again`,
        ]
      : []),
    ...(others > 0
      ? [
          `${others} rows were locked or written by other processes during the run; next: put ${primary} first in ` +
            `BERTH_ENCRYPTION_KEYS of every API process, then run this command again`,
        ]
      : []),
  ];
}

/**
 * `berth keys rotate-encryption …`
 * @throws UsageError, StoreError; Error when some rows could not be encrypted again. All other rows were
 */
export async function rotateEncryption(session: AdminSession, options: RotateOptions): Promise<void> {
  const box = configuredBox(session.config);
  if (box === null) throw new UsageError(KEYS_MISSING);
  const rotate = async (database: Database) => {
    const done = options.dryRun
      ? { resealed: 0, unreadable: {} }
      : await reseal(database, box, options.batch);
    const outcome = await outcomeOf(database, box, done);
    await printed(options.output, outcome, { table: () => lines(outcome, box).join('\n') });
    const rest = options.dryRun ? [] : problems(outcome);
    if (rest.length > 0) throw new Error(`failed to encrypt all rows again: ${rest.join('; ')}`);
  };
  const limits = { statementTimeoutMs: STATEMENT_TIMEOUT_MS };
  await withDatabase(session, 'it names the database of the secrets', rotate, limits);
}

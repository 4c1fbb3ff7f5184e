import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { Config } from './config.ts';
import type { Logger } from './domain/logger.ts';
import { configuredBox, KEYS_MISSING } from './encryption.ts';
import { type Database, openDatabase } from './store/database.ts';
import { checkMigrated } from './store/migrate.ts';
import {
  answersOfOtherKeys,
  type KeyedAnswers,
  type KeyUse,
  keyUses,
  type ResealedBatch,
  resealBatch,
  SEALED_TABLES,
} from './store/sealed-tables.ts';
import type { SecretBox } from './store/secret-box.ts';
import { UsageError } from './usage-error.ts';

/** `berth keys rotate-encryption`: everything that is sealed comes under the first key of BERTH_ENCRYPTION_KEYS. */

export const ROTATE_HELP = `usage: berth keys rotate-encryption [--dry-run] [--batch N] [--json]
Seals again, with the first key of BERTH_ENCRYPTION_KEYS, whatever another key has sealed; then says which keys are
still needed. Runs beside the API; ended in the middle, it goes on where it was when it is started again.

  1. Add the new key at the end of BERTH_ENCRYPTION_KEYS of every API process: all can read what it seals.
  2. Put it first, in every API process: from now on it seals what is new.
  3. Run this command with that same setting.
  4. Remove the old key once this command says that it is no longer needed.

  --dry-run    only say which keys are in use
  --batch N    rows in one transaction, 1 to 1000; default 100
  --json       print the end result as JSON`;

/** More passes find what others held or wrote meanwhile; who still seals with an old key after these has an old setting. */
const MAX_PASSES = 5;
const PAUSE_MS = 500;
const PROGRESS_EVERY_MS = 2_000;

/** What is left to say at the end. */
interface Outcome {
  readonly primary: string;
  readonly resealed: number;
  /** Rows that no configured key opens, by table. */
  readonly unreadable: Readonly<Record<string, readonly string[]>>;
  readonly uses: readonly KeyUse[];
  readonly answers: readonly KeyedAnswers[];
  /** Configured keys that nothing needs any more. */
  readonly removable: readonly string[];
}

interface Options {
  readonly dryRun: boolean;
  readonly batch: number;
  readonly json: boolean;
}

function parseOptions(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      'dry-run': { type: 'boolean', default: false },
      batch: { type: 'string', default: '100' },
      json: { type: 'boolean', default: false },
    },
  });
  const batch = Number(values.batch);
  if (!Number.isInteger(batch) || batch < 1 || batch > 1000)
    throw new UsageError('--batch: must be an integer from 1 to 1000');
  return { dryRun: values['dry-run'], batch, json: values.json };
}

/** One way through a table, a transaction for each batch. Returns the rows that cannot be opened. */
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
  let told = performance.now();
  return (resealed) => {
    done += resealed;
    if (performance.now() - told < PROGRESS_EVERY_MS) return;
    told = performance.now();
    console.error(`${done} of about ${total} resealed`);
  };
}

/** Reseals until nothing but what cannot be opened is left. */
async function reseal(database: Database, box: SecretBox, limit: number) {
  const readUses = () => database.platform.read(keyUses);
  const tell = progress(rowsOfOthers(await readUses(), box.primaryKeyId));
  let resealed = 0;
  const onBatch = (count: number) => {
    resealed += count;
    tell(count);
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
    `The key that seals: ${primary}. Resealed: ${resealed}.`,
    ...uses.map(
      ({ table, keyId, rows }) =>
        `${table}: ${rows} under ${keyId}${box.keyIds.has(keyId) ? '' : ' (not configured)'}`,
    ),
    ...answers.map(
      ({ keyId, rows, until }) =>
        `Idempotency-Keys: ${rows} hashed with ${keyId}; they expire until ${until.toISOString()}. Without the key, a request repeated until then is a 409.`,
    ),
    `No longer needed: ${removable.length === 0 ? 'none' : removable.join(', ')}.`,
  ];
}

const SHOWN_IDS = 20;

/** Why not everything is under the primary key, with what to do. */
function problems({ primary, uses, unreadable }: Outcome): string[] {
  const ids = Object.entries(unreadable).flatMap(([table, rows]) => rows.map((id) => `${table} ${id}`));
  const shown = `${ids.slice(0, SHOWN_IDS).join(', ')}${ids.length > SHOWN_IDS ? ', …' : ''}`;
  const others = rowsOfOthers(uses, primary) - ids.length;
  return [
    ...(ids.length > 0
      ? [
          `${ids.length} cannot be read (${shown}); next: configure their key and run this again, or have their values sent anew`,
        ]
      : []),
    ...(others > 0
      ? [
          `${others} were held or written by others meanwhile; next: put ${primary} first in BERTH_ENCRYPTION_KEYS of every API process, then run this again`,
        ]
      : []),
  ];
}

/**
 * `berth keys rotate-encryption …`
 * @throws UsageError, StoreError, Error when something could not be resealed: the rest was
 */
export async function rotateEncryption(
  config: Config,
  logger: Logger,
  args: readonly string[],
): Promise<void> {
  const options = parseOptions(args);
  const box = configuredBox(config);
  if (config.databaseUrl === null)
    throw new UsageError('DATABASE_URL is not set: in which database are the secrets?');
  if (box === null) throw new UsageError(KEYS_MISSING);
  const database = openDatabase({ url: config.databaseUrl, poolSize: 1, logger, statementTimeoutMs: 60_000 });
  try {
    await checkMigrated(database);
    const done = options.dryRun
      ? { resealed: 0, unreadable: {} }
      : await reseal(database, box, options.batch);
    const outcome = await outcomeOf(database, box, done);
    console.log(options.json ? JSON.stringify(outcome) : lines(outcome, box).join('\n'));
    const rest = options.dryRun ? [] : problems(outcome);
    if (rest.length > 0) throw new Error(`failed to reseal everything: ${rest.join('; ')}`);
  } finally {
    await database.close();
  }
}

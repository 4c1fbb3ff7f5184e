import {
  type BuildLogLine,
  KEPT_BUILD_LOGS,
  LEFT_OUT,
  type LogPiece,
  type TakenPiece,
  takePiece,
} from '../../../domain/builds/build-log.ts';
import { withoutCredentials } from '../../../domain/redaction/credential-text.ts';
import type { Reader, Transaction } from '../core/database.ts';
import { and, eq, lt, sql } from '../core/drizzle.ts';
import { inTurns, masking } from '../core/masking.ts';
import type { Page } from '../core/records.ts';
import { buildLogs, deployments, integrations, revisions, secretSets } from '../core/schema.ts';
import type { SecretBox } from '../secrets/secret-box.ts';
import { openToken } from './integrations.ts';

/**
 * Logs of builds. Rows are the pieces that listeners send, with the secrets of the deployment masked. A row without
 * lines marks the end of the latest attempt.
 */

/** Notification channel for new log lines. The payload is the id of a revision or of a log request. */
export const LOG_CHANNEL = 'berth_logs';

/** Locks a revision, so that the pieces of its log are written one at a time. Reads the secrets that its log may show. */
async function lockBuild(transaction: Transaction, revisionId: string, listenerId: string) {
  const [build] = await transaction.drizzle
    .select({
      tenantId: revisions.tenantId,
      secrets: {
        id: secretSets.id,
        tenantId: secretSets.tenantId,
        deploymentId: secretSets.deploymentId,
        keyId: secretSets.keyId,
        sealed: secretSets.sealed,
      },
      integration: {
        id: integrations.id,
        tenantId: integrations.tenantId,
        provider: integrations.provider,
        hostUrl: integrations.hostUrl,
        keyId: integrations.keyId,
        sealed: integrations.sealed,
      },
    })
    .from(revisions)
    .innerJoin(deployments, eq(deployments.id, revisions.deploymentId))
    .leftJoin(secretSets, eq(secretSets.id, revisions.secretsId))
    .leftJoin(
      integrations,
      and(
        eq(integrations.tenantId, deployments.tenantId),
        sql`${integrations.id} = (${deployments.sourceConfig} ->> 'integration_id')::uuid`,
      ),
    )
    .where(and(eq(revisions.id, revisionId), eq(deployments.listenerId, listenerId)))
    .for('no key update', { of: revisions });
  return build;
}

type Build = NonNullable<Awaited<ReturnType<typeof lockBuild>>>;

/** SQL: whether a row is the end marker of an attempt, which has no lines. */
const IS_END = sql`${buildLogs.lines} = '[]'`;

/** The stored part of a log. Counts only rows of the latest attempt. */
async function readKept(transaction: Transaction, revisionId: string, attempt: number) {
  const { firstLine, lines } = buildLogs;
  const ofRow = sql`(${lines} -> 0 ->> 'attempt')::int`;
  const [kept] = await transaction.drizzle
    .select({
      lines: sql<number>`coalesce(max(${firstLine} + jsonb_array_length(${lines})), 0)`,
      bytes: sql<number>`coalesce(sum(octet_length(${lines}::text)), 0)::int`,
      attempt: sql<number | null>`max(${ofRow})`,
      linesBefore: sql<number>`coalesce(min(${firstLine}) FILTER (WHERE ${ofRow} = ${attempt}), 0)`,
      ended: sql<boolean>`coalesce(bool_or(${IS_END}), false)`,
    })
    .from(buildLogs)
    .where(eq(buildLogs.revisionId, revisionId));
  return kept;
}

function addPiece(transaction: Transaction, piece: typeof buildLogs.$inferInsert) {
  const { revisionId, firstLine } = buildLogs;
  return transaction.drizzle
    .insert(buildLogs)
    .values(piece)
    .onConflictDoNothing({ target: [revisionId, firstLine] });
}

/** Masks a line before it is stored, because everyone who can see the deployment can read it. */
function masked(box: SecretBox, { secrets, integration }: Build): (text: string) => string {
  const tokens = () => (integration === null ? [] : [openToken(box, integration)]);
  const mask = masking(box, secrets === null ? [] : [secrets], tokens);
  return (text) => withoutCredentials(mask(text));
}

/**
 * Converts lines to their stored form. Repeated lines that are already stored are skipped first, so that they cost no
 * time.
 */
async function withoutSecrets(
  box: SecretBox,
  build: Build,
  lines: readonly BuildLogLine[],
): Promise<BuildLogLine[]> {
  if (lines.length === 0) return [];
  const mask = masked(box, build);
  // The notice about omitted lines is Berth's own text.
  return inTurns(lines, (line) => (line.text === LEFT_OUT ? line : { ...line, text: mask(line.text) }));
}

/** A piece and the build that it belongs to. */
export interface BuildLogPiece extends LogPiece {
  readonly revisionId: string;
  /** Whether the attempt has ended, so that no line follows. */
  readonly last: boolean;
}

const UNKNOWN: TakenPiece = { added: [], nextLine: 0, full: true };

/** Stores the new lines of a piece, masked. Pieces for revisions of other listeners are ignored. */
export async function addBuildLog(
  transaction: Transaction,
  box: SecretBox,
  listenerId: string,
  piece: BuildLogPiece,
): Promise<Omit<TakenPiece, 'added'>> {
  const { revisionId, attempt } = piece;
  const build = await lockBuild(transaction, revisionId, listenerId);
  if (build === undefined) return UNKNOWN;
  const kept = await readKept(transaction, revisionId, attempt);
  if (kept === undefined) return UNKNOWN;
  // An attempt can end only after one of its lines was stored, so a line of a later attempt starts a new log.
  if (kept.ended && attempt <= (kept.attempt ?? 1))
    return { nextLine: kept.lines - kept.linesBefore, full: true };
  const taken = takePiece(kept, piece);
  const { nextLine, full } = taken;
  const added = await withoutSecrets(box, build, taken.added);
  const ends = piece.last && nextLine >= piece.firstLine + piece.lines.length;
  const { tenantId } = build;
  if (added.length > 0 && kept.ended)
    await transaction.drizzle.delete(buildLogs).where(and(eq(buildLogs.revisionId, revisionId), IS_END));
  if (added.length > 0)
    await addPiece(transaction, { tenantId, revisionId, firstLine: kept.lines, lines: added });
  if (ends || full)
    await addPiece(transaction, { tenantId, revisionId, firstLine: kept.lines + added.length, lines: [] });
  if (added.length > 0 || ends)
    await transaction.drizzle.execute(sql`SELECT pg_notify(${LOG_CHANNEL}, ${revisionId})`);
  return { nextLine, full: full || ends };
}

export interface ReadLog {
  readonly lines: readonly BuildLogLine[];
  /** Whether the log has ended with these lines. */
  readonly ended: boolean;
}

/** Reads lines of a revision's log. */
export async function readBuildLog(
  reader: Reader,
  tenantId: string,
  revisionId: string,
  { offset, limit }: Page,
): Promise<ReadLog> {
  // The end is read first, so that a line that is added between the two reads cannot follow the end.
  const marked = await reader.drizzle
    .select({ firstLine: buildLogs.firstLine })
    .from(buildLogs)
    .where(and(eq(buildLogs.revisionId, revisionId), IS_END));
  const rows = await reader.drizzle
    .select({ firstLine: buildLogs.firstLine, lines: buildLogs.lines })
    .from(buildLogs)
    .where(
      and(
        eq(buildLogs.revisionId, revisionId),
        eq(buildLogs.tenantId, tenantId),
        lt(buildLogs.firstLine, offset + limit),
        sql`${buildLogs.firstLine} >= coalesce((SELECT max(b.first_line) FROM ${buildLogs} b
          WHERE b.revision_id = ${revisionId} AND b.first_line <= ${offset}), 0)`,
      ),
    )
    .orderBy(buildLogs.firstLine);
  const from = rows[0]?.firstLine ?? offset;
  const lines = rows.flatMap((row) => row.lines).slice(Math.max(0, offset - from));
  return { lines: lines.slice(0, limit), ended: marked.length > 0 && lines.length < limit };
}

/** SQL: revisions whose logs are removed. The number is limited, so that the statement is short. */
const PRUNABLE = sql`(
  SELECT id FROM (
    SELECT r.id, row_number() OVER (PARTITION BY r.deployment_id ORDER BY r.number DESC) AS age
    FROM ${revisions} r WHERE EXISTS (SELECT 1 FROM ${buildLogs} b WHERE b.revision_id = r.id)
  ) AS logged WHERE age > ${KEPT_BUILD_LOGS} LIMIT 500)`;

/**
 * Removes the logs of all builds except the newest builds of each deployment. Platform scope.
 * @returns the number of removed rows
 */
export async function pruneBuildLogs(transaction: Transaction): Promise<number> {
  const removed = await transaction.drizzle
    .delete(buildLogs)
    .where(sql`${buildLogs.revisionId} IN ${PRUNABLE}`)
    .returning({ revisionId: buildLogs.revisionId });
  return removed.length;
}

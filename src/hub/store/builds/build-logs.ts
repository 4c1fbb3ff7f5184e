import {
  type BuildLogLine,
  KEPT_BUILD_LOGS,
  type KeptLog,
  LEFT_OUT,
  type LogPiece,
  type TakenPiece,
  takePiece,
} from '../../../domain/builds/build-log.ts';
import type { GitProvider } from '../../../domain/builds/git-host.ts';
import { withoutCredentials } from '../../../domain/redaction/credential-text.ts';
import type { Reader, Transaction } from '../core/database.ts';
import { inTurns, masking } from '../core/masking.ts';
import type { Page, SealedSecrets } from '../core/records.ts';
import type { SecretBox } from '../secrets/secret-box.ts';
import { openToken } from './integrations.ts';

/**
 * Logs of builds. Rows are the pieces that listeners send, with the secrets of the deployment masked. A row without
 * lines marks the end of the latest attempt.
 */

/** Notification channel for new log lines. The payload is the id of a revision or of a log request. */
export const LOG_CHANNEL = 'berth_logs';

interface BuildRow {
  tenant_id: string;
  deployment_id: string;
  secrets_id: string | null;
  key_id: string | null;
  sealed: Buffer | null;
  i_id: string | null;
  i_provider: GitProvider;
  i_host_url: string;
  i_key_id: string;
  i_sealed: Buffer;
}

/** Locks a revision, so that the pieces of its log are written one at a time. */
const LOCK = `
SELECT r.tenant_id, r.deployment_id, r.secrets_id, s.key_id, s.sealed, i.id AS i_id, i.provider AS i_provider,
  i.host_url AS i_host_url, i.key_id AS i_key_id, i.sealed AS i_sealed
FROM revisions r
  JOIN deployments d ON d.id = r.deployment_id
  LEFT JOIN secret_sets s ON s.id = r.secrets_id
  LEFT JOIN integrations i ON i.tenant_id = d.tenant_id AND i.id = (d.source_config ->> 'integration_id')::uuid
WHERE r.id = $1 AND d.listener_id = $2
FOR NO KEY UPDATE OF r`;

/** Counts only rows of the latest attempt. The end markers of attempts have no lines. */
const KEPT = `
SELECT coalesce(max(first_line + jsonb_array_length(lines)), 0) AS lines,
  coalesce(sum(octet_length(lines::text)), 0)::int AS bytes, max((lines -> 0 ->> 'attempt')::int) AS attempt,
  coalesce(min(first_line) FILTER (WHERE (lines -> 0 ->> 'attempt')::int = $2), 0) AS lines_before,
  coalesce(bool_or(lines = '[]'), false) AS ended
FROM build_logs WHERE revision_id = $1`;

const UNMARK = `DELETE FROM build_logs WHERE revision_id = $1 AND lines = '[]'`;
const ADD = `
INSERT INTO build_logs (tenant_id, revision_id, first_line, lines) VALUES ($1, $2, $3, $4::jsonb)
ON CONFLICT (revision_id, first_line) DO NOTHING`;
const NOTIFY = `SELECT pg_notify('${LOG_CHANNEL}', $1)`;

interface KeptRow {
  lines: number;
  bytes: number;
  attempt: number | null;
  lines_before: number;
  ended: boolean;
}

/** Masks a line before it is stored, because everyone who can see the deployment can read it. */
function masked(box: SecretBox, row: BuildRow): (text: string) => string {
  const { tenant_id: tenantId, deployment_id: deploymentId, secrets_id: id, key_id: keyId, sealed } = row;
  const sets: SealedSecrets[] =
    id === null || keyId === null || sealed === null ? [] : [{ id, tenantId, deploymentId, keyId, sealed }];
  const integration = () =>
    row.i_id === null
      ? []
      : [
          openToken(box, {
            id: row.i_id,
            tenantId,
            provider: row.i_provider,
            hostUrl: row.i_host_url,
            keyId: row.i_key_id,
            sealed: row.i_sealed,
          }),
        ];
  const mask = masking(box, sets, integration);
  return (text) => withoutCredentials(mask(text));
}

/**
 * Converts lines to their stored form. Repeated lines that are already stored are skipped first, so that they cost no
 * time.
 */
async function withoutSecrets(
  box: SecretBox,
  row: BuildRow,
  lines: readonly BuildLogLine[],
): Promise<BuildLogLine[]> {
  if (lines.length === 0) return [];
  const mask = masked(box, row);
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
  const [row] = await transaction.query<BuildRow>(LOCK, [revisionId, listenerId]);
  if (row === undefined) return UNKNOWN;
  const [kept] = await transaction.query<KeptRow>(KEPT, [revisionId, attempt]);
  if (kept === undefined) return UNKNOWN;
  // An attempt can end only after one of its lines was stored, so a line of a later attempt starts a new log.
  if (kept.ended && attempt <= (kept.attempt ?? 1))
    return { nextLine: kept.lines - kept.lines_before, full: true };
  const known: KeptLog = { ...kept, linesBefore: kept.lines_before };
  const taken = takePiece(known, piece);
  const { nextLine, full } = taken;
  const added = await withoutSecrets(box, row, taken.added);
  const ends = piece.last && nextLine >= piece.firstLine + piece.lines.length;
  if (added.length > 0 && kept.ended) await transaction.query(UNMARK, [revisionId]);
  if (added.length > 0)
    await transaction.query(ADD, [row.tenant_id, revisionId, kept.lines, JSON.stringify(added)]);
  if (ends || full)
    await transaction.query(ADD, [row.tenant_id, revisionId, kept.lines + added.length, '[]']);
  if (added.length > 0 || ends) await transaction.query(NOTIFY, [revisionId]);
  return { nextLine, full: full || ends };
}

const READ = `
SELECT first_line, lines FROM build_logs
WHERE revision_id = $2 AND tenant_id = $1 AND first_line < $3::int + $4::int
  AND first_line >= coalesce((SELECT max(b.first_line) FROM build_logs b WHERE b.revision_id = $2 AND b.first_line <= $3), 0)
ORDER BY first_line`;
const ENDED = `SELECT 1 FROM build_logs WHERE revision_id = $1 AND lines = '[]'`;

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
  const marked = (await reader.query(ENDED, [revisionId])).length > 0;
  const rows = await reader.query<{ first_line: number; lines: BuildLogLine[] }>(READ, [
    tenantId,
    revisionId,
    offset,
    limit,
  ]);
  const from = rows[0]?.first_line ?? offset;
  const lines = rows.flatMap((row) => row.lines).slice(Math.max(0, offset - from));
  return { lines: lines.slice(0, limit), ended: marked && lines.length < limit };
}

const PRUNE = `
DELETE FROM build_logs WHERE revision_id IN (
  SELECT id FROM (
    SELECT r.id, row_number() OVER (PARTITION BY r.deployment_id ORDER BY r.number DESC) AS age
    FROM revisions r WHERE EXISTS (SELECT 1 FROM build_logs b WHERE b.revision_id = r.id)
  ) AS logged WHERE age > $1 LIMIT 500)
RETURNING revision_id`;

/**
 * Removes the logs of all builds except the newest builds of each deployment. Platform scope.
 * @returns the number of removed rows
 */
export async function pruneBuildLogs(transaction: Transaction): Promise<number> {
  return (await transaction.query(PRUNE, [KEPT_BUILD_LOGS])).length;
}

import type { RevisionBuild } from '../../../domain/builds/build.ts';
import type { Revision } from '../../../domain/deployment/deployment.ts';
import { type RevisionStatus, TERMINAL_STATUSES } from '../../../domain/revision/states.ts';
import type { Reader } from '../core/database.ts';
import { alias, and, desc, eq, inArray, not, type SQL, sql } from '../core/drizzle.ts';
import type { Page, SealedSecrets } from '../core/records.ts';
import { deployments, listeners, revisions, secretSets } from '../core/schema.ts';
import { REVISION_STATUS } from './status.ts';

/**
 * A revision with its encrypted secrets (null: no secrets). The status is derived, and is UNKNOWN while the listener is
 * not connected.
 */
export interface RevisionRecord extends Revision {
  tenantId: string;
  /** Id of the secrets, to create another revision with the same secrets. */
  secretsId: string | null;
  secrets: SealedSecrets | null;
  /** The observed state of the build of the revision; null: no build exists, or no state was observed yet. */
  build: RevisionBuild | null;
}

const r = alias(revisions, 'r');
const d = alias(deployments, 'd');
const l = alias(listeners, 'l');
const s = alias(secretSets, 's');
const STATUS = sql<RevisionStatus>`${sql.raw(REVISION_STATUS)}`;

/** Selects revisions of a deployment. REVISION_STATUS needs the aliases. */
const select = (reader: Reader, tenantId: string, deploymentId: string, ...conditions: readonly SQL[]) =>
  reader.drizzle
    .select({
      id: r.id,
      tenantId: r.tenantId,
      deploymentId: r.deploymentId,
      number: r.number,
      status: STATUS,
      reason: r.reason,
      message: r.message,
      sourceRevisionConfig: r.sourceRevisionConfig,
      resolvedImage: r.resolvedImage,
      build: r.build,
      createdAt: r.createdAt,
      updatedAt: r.updatedAt,
      deployedAt: r.deployedAt,
      secretsId: r.secretsId,
      secrets: {
        id: s.id,
        tenantId: s.tenantId,
        deploymentId: s.deploymentId,
        keyId: s.keyId,
        sealed: s.sealed,
      },
    })
    .from(r)
    .innerJoin(d, eq(d.id, r.deploymentId))
    .innerJoin(l, eq(l.id, d.listenerId))
    .leftJoin(s, eq(s.id, r.secretsId))
    .where(and(eq(r.tenantId, tenantId), eq(r.deploymentId, deploymentId), ...conditions));

/** One revision of a deployment; null when the deployment has no revision with this id. */
export async function findRevision(
  reader: Reader,
  tenantId: string,
  deploymentId: string,
  revisionId: string,
): Promise<RevisionRecord | null> {
  const [revision] = await select(reader, tenantId, deploymentId, eq(r.id, revisionId));
  return revision ?? null;
}

export interface RevisionFilter {
  /** Statuses, one of which must match. */
  statuses?: readonly RevisionStatus[];
  /** true: only revisions with a final status; false: only revisions without. */
  remoteReconciled?: boolean;
}

/** Revisions of a deployment, newest first. */
export function listRevisions(
  reader: Reader,
  tenantId: string,
  deploymentId: string,
  filter: RevisionFilter,
  page: Page,
): Promise<RevisionRecord[]> {
  const { statuses, remoteReconciled } = filter;
  const conditions: SQL[] = [];
  if (statuses !== undefined) conditions.push(inArray(STATUS, statuses));
  const hasEnded = inArray(r.status, TERMINAL_STATUSES);
  if (remoteReconciled !== undefined) conditions.push(remoteReconciled ? hasEnded : not(hasEnded));
  return select(reader, tenantId, deploymentId, ...conditions)
    .orderBy(desc(r.number))
    .limit(page.limit)
    .offset(page.offset);
}

/** Number of newest revisions whose pods may still print something, in addition to the active revision and later ones. */
const NEWEST = 10;

/**
 * Whether pods of a deployment may print values of Secrets that the hub does not know, because one of these revisions has
 * secret_references: the active revision, a later one, or one of the newest revisions.
 */
export async function mayPrintReferences(
  reader: Reader,
  tenantId: string,
  deploymentId: string,
): Promise<boolean> {
  const active = sql`(SELECT a.number FROM revisions a JOIN deployments x ON x.active_revision_id = a.id WHERE x.id = ${deploymentId})`;
  const newest = sql`(SELECT max(n.number) FROM revisions n WHERE n.deployment_id = ${deploymentId})`;
  const [found] = await reader.drizzle
    .select({ id: r.id })
    .from(r)
    .where(
      and(
        eq(r.tenantId, tenantId),
        eq(r.deploymentId, deploymentId),
        sql`${r.sourceRevisionConfig} ? 'secretReferences'`,
        sql`${r.number} >= least(${active}, ${newest} - ${NEWEST - 1}::int)`,
      ),
    )
    .limit(1);
  return found !== undefined;
}

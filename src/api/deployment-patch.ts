import type { RenderConfig } from '../contract/render-config.ts';
import { type BodyIssue, below } from '../domain/body-issue.ts';
import { withDefaultCeilings } from '../domain/default-ceilings.ts';
import type { Revision, Secret } from '../domain/deployment.ts';
import type { PatchBody } from '../domain/deployment-bodies.ts';
import { imageVersion } from '../domain/image-reference.ts';
import { applyPatch, type Patched } from '../domain/patch.ts';
import { sourceIssues } from '../domain/source-rules.ts';
import { specChangeIssues } from '../domain/spec-rules.ts';
import type { Transaction } from '../store/database.ts';
import { updateWanted } from '../store/deployments.ts';
import type { Actor } from '../store/events.ts';
import { findListener } from '../store/listeners.ts';
import type { DeploymentRecord, NewRevision } from '../store/records.ts';
import { findRevision, type RevisionRecord } from '../store/revisions.ts';
import { openSecrets } from '../store/secret-box.ts';
import { lockForChange } from './deployment-lock.ts';
import {
  checkClusterSupport,
  manifestsOf,
  type Outlook,
  resourceOf,
  revisionOf,
  rollsPods,
} from './deployment-manifests.ts';
import { renderingOf } from './deployment-placement.ts';
import { checkQuota, quotaUsage } from './deployment-quota.ts';
import {
  checkRepositoryHost,
  conflict,
  newRevision,
  repositoryOwner,
  serverUrl,
  undone,
  wantedIssues,
} from './deployment-rules.ts';
import type { DryRunAnswer } from './deployment-schema.ts';
import { secretsBeforePatch } from './deployment-secrets.ts';
import type { ApiDeps } from './deps.ts';
import { brokenRules, wrongShape } from './errors.ts';

/** `PATCH /v2/deployments/{id}`: merge, decide, then write everything in one transaction. */

export interface PatchRequest {
  readonly tenantId: string;
  readonly deploymentId: string;
  readonly actor: Actor;
  readonly body: PatchBody;
  readonly ifMatch: string | undefined;
  readonly dryRun: boolean;
}

/** A deployment as changed, or as it would be. */
export interface PatchResult {
  readonly record: DeploymentRecord;
  /** That is stored: of a dry run the one before. */
  readonly generation: number;
  /** Only of a dry run. */
  readonly outlook: Pick<DryRunAnswer, 'manifests' | 'new_revision' | 'builds' | 'pods_roll'> | null;
}

const touches = ({ changed }: Patched, part: string) =>
  changed.some((path) => path === part || path.startsWith(`${part}.`));

/** What is stored already is not judged again by rules and a policy that may be newer than it. */
const isJudged = (patched: Patched) => touches(patched, 'source_config') || touches(patched, 'secrets');

function ruleIssues(
  deps: ApiDeps,
  record: DeploymentRecord,
  before: readonly Secret[],
  patched: Patched,
): BodyIssue[] {
  if (!isJudged(patched)) return [];
  const { sourceConfig, secrets } = patched.next;
  const stored = { sourceConfig: record.sourceConfig, secrets: before };
  const shrinking = specChangeIssues(
    record.sourceConfig.resource_spec ?? {},
    sourceConfig.resource_spec ?? {},
    sourceConfig.deployment_type,
    record.volumeGi,
  );
  return [
    ...below(['source_config', 'resource_spec'], shrinking),
    ...wantedIssues(deps, { sourceConfig, stored, secrets, appName: record.appName }),
  ];
}

/** @throws ApiError 422, 400 with every broken rule */
function decide(
  deps: ApiDeps,
  record: DeploymentRecord,
  secrets: readonly Secret[],
  body: PatchBody,
): Patched {
  checkRepositoryHost(deps, body.source_config?.repo_url);
  const patched = applyPatch({ ...record, secrets, serverUrl: serverUrl(deps, record.appName) }, body);
  if (patched.shapeIssues.length > 0) {
    throw wrongShape(below(['body'], patched.shapeIssues));
  }
  const issues = [
    ...patched.issues,
    ...sourceIssues({
      source: record.source,
      asked: patched.asked,
      next: patched.next,
      creating: false,
      hosting: deps.hosting,
      registry: deps.registry,
      owner: repositoryOwner(deps, record),
    }),
    ...ruleIssues(deps, record, secrets, patched),
  ];
  if (issues.length > 0) throw brokenRules(issues);
  if (!isJudged(patched)) return patched;
  const { next } = patched;
  return { ...patched, next: { ...next, sourceConfig: withDefaultCeilings(next.sourceConfig, deps.policy) } };
}

const namesOf = (secrets: readonly Secret[]) => secrets.map(({ name }) => name);

interface Change {
  readonly before: DeploymentRecord;
  readonly secrets: readonly Secret[];
  readonly patched: Patched;
  /** null: none results. */
  readonly revision: NewRevision | null;
}

async function write(
  deps: ApiDeps,
  transaction: Transaction,
  { before, patched, revision }: Change,
  actor: Actor,
): Promise<DeploymentRecord> {
  const { next, changed } = patched;
  if (changed.length === 0) return before;
  const { sourceConfig, secrets } = next;
  const asked = { deploymentId: before.id, sourceConfig, secretNames: namesOf(secrets) };
  const usage = isJudged(patched)
    ? await checkQuota(deps, transaction, before.tenantId, asked)
    : await quotaUsage(deps, transaction, before.tenantId, asked);
  return updateWanted(transaction, deps.secretBox, before.tenantId, before.id, {
    expectedGeneration: before.generation,
    sourceConfig,
    sourceRevisionConfig: next.sourceRevisionConfig,
    secrets: changed.includes('secrets')
      ? { kind: 'values', secrets }
      : { kind: 'set', id: before.secrets?.id ?? null },
    imageVersion: imageVersion(next.sourceRevisionConfig.image_uri),
    revision,
    usage,
    actor,
    message: `Changed: ${changed.join(', ')}.`,
    details: { changed: [...changed] },
  });
}

interface Cluster {
  readonly rendering: RenderConfig | null;
  readonly latest: Revision | null;
  /** The active one, where it is another; only for a dry run. */
  readonly active: RevisionRecord | null;
}

async function readCluster(
  transaction: Transaction,
  record: DeploymentRecord,
  dryRun: boolean,
): Promise<Cluster> {
  const { tenantId, id, latestRevisionId, activeRevisionId, listenerId } = record;
  const listener = await findListener(transaction, tenantId, listenerId);
  const find = async (revisionId: string | null) =>
    revisionId === null ? null : await findRevision(transaction, tenantId, id, revisionId);
  return {
    rendering: listener === null ? null : renderingOf(listener),
    latest: await find(latestRevisionId),
    active: !dryRun || activeRevisionId === latestRevisionId ? null : await find(activeRevisionId),
  };
}

function resourcesOf(
  deps: ApiDeps,
  change: Change,
  record: DeploymentRecord,
  { latest, active }: Cluster,
): Outlook {
  const { before, secrets, patched, revision } = change;
  const wanted = revision === null ? latest : revisionOf(record, revision, (latest?.number ?? 0) + 1);
  const both = {
    before: resourceOf(deps, before, latest, namesOf(secrets)),
    after: resourceOf(deps, record, wanted, namesOf(patched.next.secrets)),
  };
  // A revision that has failed stays as it is: source_config reaches the one that serves instead.
  if (revision !== null || latest?.status !== 'DEPLOY_FAILED') return { ...both, served: both };
  if (active === null) return { ...both, served: null };
  const names = namesOf(openSecrets(deps.secretBox, active.secrets));
  const served = {
    before: resourceOf(deps, before, active, names),
    after: resourceOf(deps, record, active, names),
  };
  return { ...both, served };
}

async function apply(deps: ApiDeps, transaction: Transaction, request: PatchRequest): Promise<PatchResult> {
  const before = await lockForChange(transaction, request);
  const secrets = secretsBeforePatch(deps.secretBox, before, request.body);
  const patched = decide(deps, before, secrets, request.body);
  const revision = patched.newRevision ? newRevision(before.source, patched.next.sourceRevisionConfig) : null;
  const change: Change = { before, secrets, patched, revision };
  // Read before the change: afterwards the latest revision is another.
  const asksCluster = request.dryRun || touches(patched, 'source_config.resource_spec');
  const cluster = asksCluster ? await readCluster(transaction, before, request.dryRun) : null;
  const record = await write(deps, transaction, change, request.actor);
  const generation = request.dryRun ? before.generation : record.generation;
  if (cluster === null) return { record, generation, outlook: null };
  const resources = resourcesOf(deps, change, record, cluster);
  checkClusterSupport(resources.after, cluster.rendering);
  if (!request.dryRun) return { record, generation, outlook: null };
  return {
    record,
    generation,
    outlook: {
      manifests: manifestsOf(resources.after, cluster.rendering, resources.served?.after),
      new_revision: revision !== null,
      builds: revision?.status === 'AWAITING_BUILD',
      pods_roll: rollsPods(resources),
    },
  };
}

/**
 * Changes a deployment, or tells what the change would do.
 * @throws ApiError 400, 404, 409, 412, 422
 */
export async function patchDeployment(deps: ApiDeps, request: PatchRequest): Promise<PatchResult> {
  const scope = deps.database.forTenant(request.tenantId);
  const work = (transaction: Transaction) => apply(deps, transaction, request);
  try {
    return await (request.dryRun ? undone(scope.transaction, work) : scope.transaction(work));
  } catch (error) {
    throw conflict(error);
  }
}

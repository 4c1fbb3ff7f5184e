import type { RenderConfig } from '../../../contract/render/render-config.ts';
import type { Condition, Reason } from '../../../domain/conditions/conditions.ts';
import { type BodyIssue, below } from '../../../domain/core/body-issue.ts';
import { changeEffects } from '../../../domain/deployment/change-effects.ts';
import { dataServiceEffects } from '../../../domain/deployment/data-service-effects.ts';
import type { Secret } from '../../../domain/deployment/deployment.ts';
import type { PatchBody } from '../../../domain/deployment/deployment-bodies.ts';
import { applyPatch, type Patched } from '../../../domain/deployment/patch.ts';
import { sourceIssues } from '../../../domain/deployment/source-rules.ts';
import { versionOfImage } from '../../../domain/net/image-reference.ts';
import { confirmsVolumeRemoval, disabledServices } from '../../../domain/pod-settings/data-services.ts';
import { variablePolicyViolations } from '../../../domain/policy/policy-rules.ts';
import { effectiveSpec } from '../../../domain/resource-spec/effective-spec.ts';
import {
  formerSizesAfter,
  type KnownVolume,
  specChangeIssues,
} from '../../../domain/resource-spec/volume-rules.ts';
import { withCommandComponents } from '../../../domain/run-settings/command-components.ts';
import { externalServices } from '../../../domain/run-settings/external-services.ts';
import { addsOrRemovesPods, namesOf, servicesNotRun } from '../../../domain/run-settings/revision-content.ts';
import type { Transaction } from '../../store/core/database.ts';
import type { Actor } from '../../store/core/events.ts';
import type { DeploymentRecord, NewRevision } from '../../store/core/records.ts';
import { updateDesiredState } from '../../store/deployments/deployments.ts';
import { hasBegunVolumeRemoval } from '../../store/deployments/volume-removal.ts';
import { findListener } from '../../store/listeners/listeners.ts';
import type { ApiDeps } from '../core/deps.ts';
import { brokenRules, volumeRemovalConflict, wrongShape } from '../core/errors.ts';
import { releaseOutlook } from '../revisions/run-settings-response.ts';
import { desiredNow, manifestChangeOf } from './deployment-dry-run.ts';
import { checkClusterSupport, customResourceOf, manifestsOf, rolledParts } from './deployment-manifests.ts';
import { listenerRendering } from './deployment-placement.ts';
import { checkQuota, keptVolumeOf, quotaUsage } from './deployment-quota.ts';
import {
  checkRepositoryHost,
  deploymentIssues,
  newRevision,
  repositoryOwner,
  rolledBack,
  serverUrl,
  withCeilings,
} from './deployment-rules.ts';
import type { Outlook } from './deployment-schema.ts';

/** Changes the desired state of a deployment: merges, validates, then writes everything in one transaction. */

/** A deployment that was changed, or that a dry run would change. */
export interface Changed {
  readonly record: DeploymentRecord;
  /** The stored generation; in a dry run, the generation before the change. */
  readonly generation: number;
  /** The data services that the change restarts, with the reasons. */
  readonly effects: readonly string[];
  /** Present only for a dry run. */
  readonly outlook: Outlook | null;
}

const touches = ({ changed }: Patched, part: string) =>
  changed.some((path) => path === part || path.startsWith(`${part}.`));

/** Fields with features that some supported clusters lack. */
const CLUSTER_FIELDS = ['source_config.resource_spec', 'source_config.placement'];

/** The stored state. */
interface Stored {
  readonly record: DeploymentRecord;
  readonly secrets: readonly Secret[];
  readonly keptVolumeGi: number | null;
}

const isExpanding = (conditions: readonly Condition[]) =>
  conditions.some(({ reason }) => reason === ('VolumeResizing' satisfies Reason));

/**
 * What rules, policy and quotas check. Stored values are not validated again, because the rules or the policy may be newer. So a
 * policy that became narrower does not prevent the replacement of a leaked secret.
 */
type Judged = 'all' | 'variables' | 'nothing';

const REVISION_PARTS = [
  'secrets',
  'secret_references',
  'source_revision_config.env',
  'source_revision_config.commands',
];

function judgedPart({ record, secrets }: Stored, patched: Patched): Judged {
  if (touches(patched, 'source_config')) return 'all';
  if (!REVISION_PARTS.some((part) => touches(patched, part))) return 'nothing';
  const isReplaced = touches(patched, 'secrets') && record.secrets !== null && secrets.length === 0;
  const before = { ...record, secrets: isReplaced ? null : secrets };
  return addsOrRemovesPods(record.sourceConfig, before, patched.next) ? 'all' : 'variables';
}

/** A PATCH that no rule rejects. */
interface Decided extends Patched {
  readonly judged: Judged;
}

/** The reported and the stored size of the volume. */
const volumeOf = ({ record, keptVolumeGi }: Omit<Stored, 'secrets'>): KnownVolume => ({
  capacityGi: record.volumeGi,
  keptGi: keptVolumeGi,
  expanding: isExpanding(record.conditions),
  former: record.formerSizes,
  observedGeneration: record.observation?.generation ?? 0,
});

function ruleIssues(
  deps: ApiDeps,
  { record, keptVolumeGi, secrets: storedSecrets }: Stored,
  { next, judged }: Decided,
): BodyIssue[] {
  if (judged === 'nothing') return [];
  const { sourceConfig, sourceRevisionConfig, secrets } = next;
  if (judged === 'variables') {
    const before = record.sourceRevisionConfig;
    const variables = {
      secrets,
      storedSecrets,
      env: sourceRevisionConfig.env ?? [],
      storedEnv: before.env ?? [],
      references: sourceRevisionConfig.secretReferences ?? [],
      storedReferences: before.secretReferences ?? [],
    };
    return variablePolicyViolations({ sourceConfig, appName: record.appName, ...variables }, deps.policy);
  }
  const stored = {
    sourceConfig: record.sourceConfig,
    sourceRevisionConfig: record.sourceRevisionConfig,
    keptVolumeGi,
    secrets: storedSecrets,
  };
  const wanted = { sourceConfig, sourceRevisionConfig, stored, secrets, appName: record.appName };
  const shrinking = specChangeIssues(
    record.sourceConfig.resource_spec ?? {},
    sourceConfig.resource_spec ?? {},
    sourceConfig.deployment_type,
    volumeOf({ record, keptVolumeGi }),
  );
  return [...below(['source_config', 'resource_spec'], shrinking), ...deploymentIssues(deps, wanted)];
}

/** @throws ApiError 422, 400 with all violated rules */
function decide(deps: ApiDeps, stored: Stored, body: PatchBody): Decided {
  const { record, secrets } = stored;
  checkRepositoryHost(deps, body.source_config?.repo_url);
  const applied = applyPatch({ ...record, secrets, serverUrl: serverUrl(deps, record.appName) }, body);
  const patched = { ...applied, judged: judgedPart(stored, applied) };
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
    ...ruleIssues(deps, stored, patched),
  ];
  if (issues.length > 0) throw brokenRules(issues);
  const { next, judged } = patched;
  if (judged !== 'all') return patched;
  const sourceConfig = withCeilings(deps, next.sourceConfig, next.sourceRevisionConfig);
  return { ...patched, next: { ...next, sourceConfig } };
}

interface DecidedChange {
  readonly before: DeploymentRecord;
  readonly keptVolumeGi: number | null;
  readonly patched: Decided;
  /** null: the change creates no revision. */
  readonly revision: NewRevision | null;
  /** The data services that the change restarts, with the reasons. */
  readonly effects: readonly string[];
}

async function write(
  deps: ApiDeps,
  transaction: Transaction,
  { before, keptVolumeGi, patched, revision, effects }: DecidedChange,
  actor: Actor,
): Promise<DeploymentRecord> {
  const { next, changed } = patched;
  if (changed.length === 0) return before;
  const { sourceConfig, sourceRevisionConfig, secrets } = next;
  const secretNames = namesOf(secrets);
  const asked = { deploymentId: before.id, sourceConfig, sourceRevisionConfig, secretNames };
  const measure = patched.judged === 'all' ? checkQuota : quotaUsage;
  const usage = await measure(deps, transaction, before.tenantId, asked);
  const formerSizes = formerSizesAfter(
    before.sourceConfig.resource_spec ?? {},
    {
      spec: sourceConfig.resource_spec ?? {},
      external: servicesNotRun(sourceConfig, secretNames, sourceRevisionConfig).database,
      generation: before.generation + 1,
    },
    before.deploymentType,
    volumeOf({ record: before, keptVolumeGi }),
  );
  return updateDesiredState(transaction, deps.secretBox, before.tenantId, before.id, {
    expectedGeneration: before.generation,
    sourceConfig,
    sourceRevisionConfig,
    secrets: changed.includes('secrets')
      ? { kind: 'values', secrets }
      : { kind: 'set', id: before.secrets?.id ?? null },
    imageVersion: versionOfImage(sourceRevisionConfig.image_uri),
    revision,
    usage,
    formerSizes,
    actor,
    message: `Changed: ${changed.join(', ')}.`,
    details: { changed: [...changed], ...(effects.length === 0 ? {} : { effects }) },
  });
}

/** null: the listener of the deployment has not reported yet. */
export async function readRendering(
  transaction: Transaction,
  { tenantId, listenerId }: DeploymentRecord,
): Promise<RenderConfig | null> {
  const listener = await findListener(transaction, tenantId, listenerId);
  return listener === null ? null : listenerRendering(listener);
}

/** The effects of a change on data services, as sentences. */
function effectsOf({ record, keptVolumeGi }: Omit<Stored, 'secrets'>, { next }: Decided): string[] {
  const { sourceConfig: stored, sourceRevisionConfig: storedSettings, volumeGi, deploymentType } = record;
  const before = withCommandComponents(stored, storedSettings);
  const after = withCommandComponents(next.sourceConfig, next.sourceRevisionConfig);
  const external = externalServices(namesOf(next.secrets), next.sourceRevisionConfig);
  const [was, is] = [disabledServices(before), disabledServices(after)];
  const requested = effectiveSpec(before.resource_spec ?? {}, deploymentType).db_storage_gi;
  const sizeGi = Math.max(keptVolumeGi ?? requested, volumeGi ?? 0);
  return [
    ...changeEffects(before, after, {
      database: external.database || was.database || is.database,
      cache: external.cache || was.cache || is.cache,
    }),
    ...dataServiceEffects(before, after, external, { sizeGi }),
  ];
}

/**
 * Rejects a change that takes back the confirmation to remove the volume after the removal has begun. So a response never
 * promises a volume that the listener deletes.
 * @throws ApiError 409
 */
async function checkVolumeRemoval(
  transaction: Transaction,
  { id, sourceConfig }: DeploymentRecord,
  { next }: Patched,
): Promise<void> {
  if (!confirmsVolumeRemoval(sourceConfig) || confirmsVolumeRemoval(next.sourceConfig)) return;
  // guard: begun-removal-stays
  if (await hasBegunVolumeRemoval(transaction, id)) throw volumeRemovalConflict();
}

/** A change of a deployment whose row is locked. */
export interface LockedChange {
  readonly before: DeploymentRecord;
  /** The stored secrets; empty if the body replaces secrets that cannot be decrypted. */
  readonly secrets: readonly Secret[];
  readonly body: PatchBody;
  readonly actor: Actor;
  readonly dryRun: boolean;
}

/**
 * Changes a deployment in a transaction of the caller.
 * @throws ApiError 422, 400, 409; UniqueViolation (see `conflict`)
 */
export async function changeIn(
  deps: ApiDeps,
  transaction: Transaction,
  { before, secrets, body, actor, dryRun }: LockedChange,
): Promise<Changed> {
  const keptVolumeGi = await keptVolumeOf(deps, transaction, before, secrets);
  const patched = decide(deps, { record: before, secrets, keptVolumeGi }, body);
  await checkVolumeRemoval(transaction, before, patched);
  const { sourceRevisionConfig, secrets: nextSecrets } = patched.next;
  const revision = patched.newRevision ? newRevision(before.source, sourceRevisionConfig) : null;
  const effects = effectsOf({ record: before, keptVolumeGi }, patched);
  const dueBefore = dryRun ? await desiredNow(transaction, before.id) : null;
  const record = await write(deps, transaction, { before, keptVolumeGi, patched, revision, effects }, actor);
  const changed = { record, generation: record.generation, effects, outlook: null };
  if (dueBefore === null && !CLUSTER_FIELDS.some((field) => touches(patched, field))) return changed;
  const rendering = await readRendering(transaction, before);
  checkClusterSupport(customResourceOf(deps, record, null, namesOf(nextSecrets)), rendering);
  if (dueBefore === null) return changed;
  const after = { record, due: await desiredNow(transaction, before.id) };
  const manifests = await manifestChangeOf(deps, transaction, {
    before: { record: before, due: dueBefore },
    after,
  });
  const builds = revision?.status === 'AWAITING_BUILD';
  const rolls = rolledParts(manifests, { builds, config: rendering });
  const outlook = {
    manifests: manifestsOf(manifests.after, rendering, manifests.served?.after),
    new_revision: revision !== null,
    builds,
    pods_roll: rolls.length > 0,
    rolls,
    ...releaseOutlook(revision === null ? null : sourceRevisionConfig),
    effects: [...effects],
    changes: [...patched.changes],
  };
  return { ...changed, generation: before.generation, outlook };
}

/** Runs a change in a transaction of the tenant, which a dry run rolls back. */
export function changing<T>(
  deps: ApiDeps,
  { tenantId, dryRun }: { readonly tenantId: string; readonly dryRun: boolean },
  work: (transaction: Transaction) => Promise<T>,
): Promise<T> {
  const scope = deps.database.forTenant(tenantId);
  const tried: typeof scope.transaction = (each) => scope.transaction(each, { byIndex: true });
  return dryRun ? rolledBack(tried, work) : scope.transaction(work);
}

import type { EventReason } from '../../../domain/conditions/event-reasons.ts';
import { uuidv7 } from '../../../domain/core/id.ts';
import type { Secret, SourceRevisionConfig } from '../../../domain/deployment/deployment.ts';
import type { Source } from '../../../domain/deployment/source.ts';
import { repeatIssues } from '../../../domain/deployment/source-rules.ts';
import { versionOfImage } from '../../../domain/net/image-reference.ts';
import { variablePolicyViolations } from '../../../domain/policy/policy-rules.ts';
import { type RepeatedContent, repeatedContent, withRelease } from '../../../domain/revision/redeploy.ts';
import { addsOrRemovesPods, namesOf } from '../../../domain/run-settings/revision-content.ts';
import { sameRunSettings } from '../../../domain/run-settings/run-settings.ts';
import { isUploadStored } from '../../store/builds/uploads.ts';
import type { Transaction } from '../../store/core/database.ts';
import type { Actor } from '../../store/core/events.ts';
import type { DeploymentRecord } from '../../store/core/records.ts';
import { findDeployment, updateDesiredState } from '../../store/deployments/deployments.ts';
import { findRevision, type RevisionRecord } from '../../store/deployments/revisions.ts';
import { openSecrets } from '../../store/secrets/secret-box.ts';
import type { ApiDeps } from '../core/deps.ts';
import { ApiError, brokenRules, notFound } from '../core/errors.ts';
import { createdAndDeleted, earlierAnswer } from '../core/idempotency.ts';
import { lockForChange } from '../deployments/deployment-lock.ts';
import { checkQuota, keptVolumeOf, quotaUsage } from '../deployments/deployment-quota.ts';
import { deploymentIssues, newRevision } from '../deployments/deployment-rules.ts';
import { readableSecrets } from '../deployments/deployment-secrets.ts';

/**
 * Creates a revision with the content of an existing revision. For the latest revision, tag or branch are resolved
 * again. For another revision, the content does not change. The new revision is always the latest revision. The cluster
 * decides about older revisions that have not started, as after a PATCH (docs/decisions/0001).
 */

/**
 * `latest` repeats the latest revision and resolves its tag or branch again. The other kinds repeat a given revision
 * unchanged and differ only in the recorded event.
 */
export type RepeatKind = 'latest' | 'redeploy' | 'rollback';

export interface RepeatRequest {
  readonly tenantId: string;
  readonly deploymentId: string;
  /** null: the latest revision. */
  readonly revisionId: string | null;
  readonly repetition: RepeatKind;
  /** Whether a rollback runs the release command. Other repetitions always run it. */
  readonly runRelease?: boolean;
  readonly actor: Actor;
  readonly ifMatch: string | undefined;
  readonly idempotencyKey: string | null;
  /** Method and path of the request, with ids. */
  readonly operation: string;
}

export interface RepeatedRevision {
  readonly revision: RevisionRecord;
  /** The generation of the deployment, for its ETag. */
  readonly generation: number;
}

const REASONS: Readonly<Record<RepeatKind, EventReason>> = {
  latest: 'RevisionRequested',
  redeploy: 'RedeployRequested',
  rollback: 'RollbackRequested',
};

const MESSAGES: Readonly<Record<RepeatKind, (number: number) => string>> = {
  latest: (number) => `A new revision with the content of revision ${number} was requested.`,
  redeploy: (number) => `Revision ${number} is deployed again.`,
  rollback: (number) => `A rollback to revision ${number} was requested.`,
};

/** @throws ApiError 404; 400 when no revision exists yet because the deployment has no image */
async function repeatedRevision(
  transaction: Transaction,
  { tenantId, deploymentId, revisionId }: RepeatRequest,
  { latestRevisionId }: DeploymentRecord,
): Promise<RevisionRecord> {
  const wanted = revisionId ?? latestRevisionId;
  if (wanted === null) {
    const msg = 'is not set yet, so no revision can be repeated. PATCH this field with the first image';
    throw brokenRules([{ loc: ['source_revision_config', 'image_uri'], msg, type: 'missing_for_source' }]);
  }
  const revision = await findRevision(transaction, tenantId, deploymentId, wanted);
  if (revision === null) throw notFound('revision');
  if (revision.secretsId !== null && revision.secrets === null) {
    throw new ApiError(
      409,
      `The secrets of revision ${revision.number} are no longer stored: PATCH the deployment instead.`,
    );
  }
  return revision;
}

/** What a new revision contains. */
export interface RevisionContent {
  readonly sourceRevisionConfig: SourceRevisionConfig;
  readonly secretsId: string | null;
  readonly secrets: readonly Secret[];
}

/**
 * Secrets and run settings that differ from the current ones are checked as in a PATCH: against the current source_config,
 * rules, policy and quotas if they move a data service or create a component, and otherwise against the policy about variables. A revision whose secrets cannot be
 * decrypted is not repeated, because no listener could get it.
 * @returns the quota usage of the deployment
 * @throws ApiError 400 with all violated rules, SecretBoxError
 */
export async function judgeContent(
  deps: ApiDeps,
  transaction: Transaction,
  before: DeploymentRecord,
  { sourceRevisionConfig, secretsId, secrets }: RevisionContent,
): ReturnType<typeof quotaUsage> {
  const { id: deploymentId, tenantId, sourceConfig, appName } = before;
  const asked = { deploymentId, sourceConfig, sourceRevisionConfig, secretNames: namesOf(secrets) };
  const isSame =
    secretsId === (before.secrets?.id ?? null) &&
    sameRunSettings(sourceRevisionConfig, before.sourceRevisionConfig);
  if (isSame) return quotaUsage(deps, transaction, tenantId, asked);
  const present = readableSecrets(deps.secretBox, before);
  const content = { sourceRevisionConfig, secrets: [...secrets] };
  if (!addsOrRemovesPods(sourceConfig, { ...before, secrets: present }, content)) {
    const { env: storedEnv = [], secretReferences: storedReferences = [] } = before.sourceRevisionConfig;
    const { env = [], secretReferences: references = [] } = sourceRevisionConfig;
    const stored = { storedSecrets: present ?? [], storedEnv, storedReferences };
    const changed = { sourceConfig, appName, secrets, env, references, ...stored };
    const issues = variablePolicyViolations(changed, deps.policy);
    if (issues.length > 0) throw brokenRules(issues);
    return quotaUsage(deps, transaction, tenantId, asked);
  }
  const stored = {
    sourceConfig,
    sourceRevisionConfig: before.sourceRevisionConfig,
    keptVolumeGi: await keptVolumeOf(deps, transaction, before, present ?? []),
    secrets: present ?? [],
  };
  const issues = deploymentIssues(deps, { sourceConfig, sourceRevisionConfig, stored, secrets, appName });
  if (issues.length > 0) throw brokenRules(issues);
  return checkQuota(deps, transaction, tenantId, asked);
}

/** A deployment with build_on_push keeps its branch, because a tag gets no pushes. @throws ApiError 400 */
function checkRef(
  { sourceConfig, sourceRevisionConfig: stored }: DeploymentRecord,
  next: SourceRevisionConfig,
): void {
  if (next.repo_ref === stored.repo_ref) return;
  const issues = repeatIssues({ sourceConfig, sourceRevisionConfig: next });
  if (issues.length > 0) throw brokenRules(issues);
}

/**
 * A revision that is built again needs its uploaded folder. Without it, the image of the revision is used again.
 * @throws ApiError 409 when neither exists
 */
async function withUpload(
  transaction: Transaction,
  { tenantId, deploymentId }: RepeatRequest,
  source: Source,
  repeated: RevisionRecord,
  content: RepeatedContent,
): Promise<RepeatedContent> {
  const { number, sourceRevisionConfig } = repeated;
  const { upload } = sourceRevisionConfig;
  if (upload === undefined || content.resolvedImage !== null) return content;
  const place = { tenantId, deploymentId, digest: upload.digest };
  if (await isUploadStored(transaction, place)) return content;
  const same = repeatedContent('same', source, repeated);
  if (same.resolvedImage !== null) return same;
  throw new ApiError(
    409,
    `The uploaded folder of revision ${number} is no longer stored: deploy the folder again.`,
  );
}

/** What a repetition has written. */
export interface Repetition extends RepeatedRevision {
  readonly before: DeploymentRecord;
  readonly after: DeploymentRecord;
  /** The secrets of the new revision. */
  readonly secrets: readonly Secret[];
}

/** Writes the new revision in a transaction of the caller. @param id of the new revision @throws ApiError 400, 404, 409, 412 */
export async function repeatIn(
  deps: ApiDeps,
  transaction: Transaction,
  request: RepeatRequest,
  id: string,
): Promise<Repetition> {
  const { tenantId, deploymentId, repetition, actor } = request;
  const before = await lockForChange(transaction, request);
  const repeated = await repeatedRevision(transaction, request, before);
  const how = repetition === 'latest' ? 'fresh' : 'same';
  const wished = repeatedContent(how, before.source, repeated);
  checkRef(before, wished.sourceRevisionConfig);
  const stored = await withUpload(transaction, request, before.source, repeated, wished);
  const runs = repetition !== 'rollback' || request.runRelease === true;
  const content = { ...stored, sourceRevisionConfig: withRelease(stored.sourceRevisionConfig, runs) };
  const { sourceRevisionConfig: wanted, secretsId } = repeated;
  const secrets = openSecrets(deps.secretBox, repeated.secrets);
  const judged = { sourceRevisionConfig: wanted, secretsId, secrets };
  const usage = await judgeContent(deps, transaction, before, judged);
  const record = await updateDesiredState(transaction, deps.secretBox, tenantId, deploymentId, {
    expectedGeneration: before.generation,
    sourceConfig: before.sourceConfig,
    sourceRevisionConfig: content.sourceRevisionConfig,
    secrets: { kind: 'set', id: repeated.secretsId },
    imageVersion: versionOfImage(content.sourceRevisionConfig.image_uri),
    revision: { ...newRevision(before.source, content.sourceRevisionConfig, content.resolvedImage), id },
    usage,
    actor,
    reason: REASONS[repetition],
    message: MESSAGES[repetition](repeated.number),
    details: { repeated_revision_id: repeated.id, repeated_number: repeated.number },
  });
  const revision = await findRevision(transaction, tenantId, deploymentId, id);
  if (revision === null) throw new Error('failed to repeat a revision: the revision was not found');
  return { revision, generation: record.generation, before, after: record, secrets };
}

async function readAgain(
  transaction: Transaction,
  { tenantId, deploymentId }: RepeatRequest,
  revisionId: string | null,
): Promise<RepeatedRevision> {
  const record = await findDeployment(transaction, tenantId, deploymentId);
  const revision =
    revisionId === null ? null : await findRevision(transaction, tenantId, deploymentId, revisionId);
  if (record === null || revision === null) throw createdAndDeleted('revision');
  return { revision, generation: record.generation };
}

/** Creates a revision with the content of an existing revision. @throws ApiError 400, 404, 409, 412 */
export function repeatRevision(deps: ApiDeps, request: RepeatRequest): Promise<RepeatedRevision> {
  const { tenantId, deploymentId } = request;
  const id = uuidv7();
  return deps.database.forTenant(tenantId).transaction(async (transaction) => {
    const call = { ...request, body: request.runRelease === true ? { run_release: true } : {} };
    const answer = { statusCode: 201, deploymentId, revisionId: id };
    const earlier = await earlierAnswer(deps, transaction, call, answer);
    if (earlier !== null) return readAgain(transaction, request, earlier.revisionId ?? null);
    return repeatIn(deps, transaction, request, id);
  });
}

import { sameJson } from '../../../domain/core/same-json.ts';
import type { SourceConfig, SourceRevisionConfig } from '../../../domain/deployment/deployment.ts';
import type { QuotaUsage } from '../../../domain/policy/quota-usage.ts';
import type { RevisionStatus } from '../../../domain/revision/states.ts';
import { withoutBuildResult } from '../../../domain/run-settings/procfile.ts';
import { namesOf } from '../../../domain/run-settings/revision-content.ts';
import { shortDigest, type Upload } from '../../../domain/uploads/upload.ts';
import type { Owner } from '../../registry/authority.ts';
import {
  abandonUpload,
  type BuiltRevision,
  findBuilt,
  beginUpload as recordBegin,
  recordMissing,
  finishUpload as recordStored,
} from '../../store/builds/uploads.ts';
import type { Transaction } from '../../store/core/database.ts';
import type { Actor } from '../../store/core/events.ts';
import type { DeploymentRecord } from '../../store/core/records.ts';
import { findRevision, type RevisionRecord } from '../../store/deployments/revisions.ts';
import { findListener } from '../../store/listeners/listeners.ts';
import { openSecrets } from '../../store/secrets/secret-box.ts';
import type { ApiDeps } from '../core/deps.ts';
import { brokenRules } from '../core/errors.ts';
import { lockForChange } from '../deployments/deployment-lock.ts';
import { listenerRendering } from '../deployments/deployment-placement.ts';
import { quotaUsage } from '../deployments/deployment-quota.ts';
import { withCeilings } from '../deployments/deployment-rules.ts';
import { readableSecrets } from '../deployments/deployment-secrets.ts';
import { judgeContent } from '../revisions/redeploy.ts';
import { reviseSource } from '../revisions/revise-source.ts';
import { beingRemoved, buildsNothing, storesNoUploads } from './upload-errors.ts';
import { checkUploadQuota } from './upload-quota.ts';

/**
 * The two transactions of an upload (docs/decisions/0116). The first records the upload before its content is stored. The
 * second creates the revision when the registry has the content.
 */

export interface UploadRequest {
  readonly tenantId: string;
  readonly deploymentId: string;
  readonly actor: Actor;
  readonly ifMatch: string | undefined;
  readonly upload: Upload;
}

export interface BegunUpload {
  readonly owner: Owner;
  /** Whether the content was stored before. The registry may have lost it since. */
  readonly isStored: boolean;
  /** Time of the database. */
  readonly begunAt: string;
}

export interface UploadedRevision {
  readonly revision: RevisionRecord;
  /** The generation of the deployment, for its ETag. */
  readonly generation: number;
  readonly created: boolean;
}

/** @throws ApiError 400 for other sources */
function checkSource({ source }: DeploymentRecord): void {
  if (source === 'internal_image') return;
  const msg = `must be internal_image, because only its folders are uploaded, but is ${source}`;
  throw brokenRules([{ loc: ['source'], msg, type: 'refused_for_source' }]);
}

/** A cluster that has not reported its settings may build. @throws ApiError 409 */
async function checkBuilds(transaction: Transaction, record: DeploymentRecord): Promise<void> {
  const listener = await findListener(transaction, record.tenantId, record.listenerId);
  if (listener !== null && listenerRendering(listener)?.builds === false) throw buildsNothing();
}

/** Locks the deployment. @throws ApiError 400, 404, 409, 412 */
async function lockUploadTarget(
  deps: ApiDeps,
  transaction: Transaction,
  request: UploadRequest,
): Promise<DeploymentRecord> {
  const record = await lockForChange(transaction, request);
  checkSource(record);
  if (deps.registryAuthority == null || deps.sourceStore == null) throw storesNoUploads();
  await checkBuilds(transaction, record);
  return record;
}

const placeOf = ({ tenantId, deploymentId, upload: { digest } }: UploadRequest) => ({
  tenantId,
  deploymentId,
  digest,
});

/**
 * Records an upload before it is stored.
 * @param bytes expected size
 * @throws ApiError 400, 404, 409, 412
 */
export function beginUpload(deps: ApiDeps, request: UploadRequest, bytes: number): Promise<BegunUpload> {
  return deps.database.forTenant(request.tenantId).transaction(async (transaction) => {
    const { id, tenantId, appName } = await lockUploadTarget(deps, transaction, request);
    const begun = await recordBegin(transaction, placeOf(request), bytes);
    if (begun === null) throw beingRemoved();
    if (!begun.stored) await checkUploadQuota(deps, transaction, placeOf(request), bytes);
    return { owner: { id, tenantId, appName }, isStored: begun.stored, begunAt: begun.begunAt };
  });
}

/** Records that the registry has lost an upload. It is then not built again before it is stored again. */
export function recordLost(
  { database }: ApiDeps,
  request: UploadRequest,
  { begunAt }: BegunUpload,
): Promise<void> {
  return database
    .forTenant(request.tenantId)
    .transaction((transaction) => recordMissing(transaction, placeOf(request), begunAt));
}

/** Records that an upload was not stored. Without the database, it counts in the quota until the cleanup. */
export async function recordAbandoned(
  { database, logger }: ApiDeps,
  request: UploadRequest,
  { begunAt }: BegunUpload,
): Promise<void> {
  try {
    await database
      .forTenant(request.tenantId)
      .transaction((transaction) => abandonUpload(transaction, placeOf(request), begunAt));
  } catch (error) {
    const fields = { deployment: request.deploymentId, err: String(error) };
    logger.warn(fields, 'failed to record the end of an upload; next: none, the cleanup removes its record');
  }
}

/** Statuses after which the same folder gets another revision. */
const ENDED: ReadonlySet<RevisionStatus> = new Set([
  'CREATE_FAILED',
  'BUILD_FAILED',
  'DEPLOY_FAILED',
  'SKIPPED',
  'INTERRUPTED',
]);

/** The latest revision, if it is of the same upload with the same settings, and has not failed. */
async function sameRevision(
  transaction: Transaction,
  { upload }: UploadRequest,
  { tenantId, id, latestRevisionId }: DeploymentRecord,
): Promise<RevisionRecord | null> {
  if (latestRevisionId === null) return null;
  const latest = await findRevision(transaction, tenantId, id, latestRevisionId);
  const isSame = latest !== null && sameJson(latest.sourceRevisionConfig.upload, upload);
  return isSame && !ENDED.has(latest.status) ? latest : null;
}

/** source_revision_config of the new revision. @param built a revision whose image is used again; null: it is built */
function contentOf(
  stored: SourceRevisionConfig,
  upload: Upload,
  built: BuiltRevision | null,
): SourceRevisionConfig {
  const content = { ...withoutBuildResult(stored), upload };
  if (built === null) return content;
  const { procfile } = built.sourceRevisionConfig;
  return { ...content, image_uri: built.image, ...(procfile === undefined ? {} : { procfile }) };
}

/**
 * source_config with the limits of the defaults of a queue component that a Procfile may create. Limits that are stored do not
 * change, and neither do the components that run, so that no data service restarts.
 */
function withWorkerCeilings(deps: ApiDeps, before: DeploymentRecord, upload: Upload): SourceConfig {
  const { sourceConfig, sourceRevisionConfig: stored } = before;
  const { upload: _former, ...settings } = stored;
  const isLimited = sourceConfig.default_ceilings !== undefined;
  const wouldBe = withCeilings(deps, sourceConfig, settings).default_ceilings !== undefined;
  return isLimited || wouldBe ? sourceConfig : withCeilings(deps, sourceConfig, { ...settings, upload });
}

/** The usage with the new revision. The commands of a known image are checked, because they can create a component. */
async function usageWith(
  deps: ApiDeps,
  transaction: Transaction,
  before: DeploymentRecord,
  sourceRevisionConfig: SourceRevisionConfig,
  isBuilt: boolean,
): Promise<QuotaUsage> {
  const { id: deploymentId, tenantId, sourceConfig } = before;
  if (isBuilt) {
    const secretsId = before.secrets?.id ?? null;
    const secrets = openSecrets(deps.secretBox, before.secrets);
    return judgeContent(deps, transaction, before, { sourceRevisionConfig, secretsId, secrets });
  }
  const secretNames = namesOf(readableSecrets(deps.secretBox, before) ?? []);
  const asked = { deploymentId, sourceConfig, sourceRevisionConfig, secretNames };
  return quotaUsage(deps, transaction, tenantId, asked);
}

async function createRevision(
  deps: ApiDeps,
  transaction: Transaction,
  { upload, actor }: UploadRequest,
  before: DeploymentRecord,
  bytes: number,
): Promise<UploadedRevision> {
  const { tenantId, id: deploymentId } = before;
  const kept = deps.policy.tenant_counts.revision_secrets;
  const built = await findBuilt(transaction, { tenantId, deploymentId }, upload, kept);
  const sourceRevisionConfig = contentOf(before.sourceRevisionConfig, upload, built);
  const usage = await usageWith(deps, transaction, before, sourceRevisionConfig, built !== null);
  const next = built === null ? 'It will be built.' : `Its image exists from revision ${built.number}.`;
  const { revisionId, generation } = await reviseSource(deps, transaction, before, {
    sourceConfig: withWorkerCeilings(deps, before, upload),
    sourceRevisionConfig,
    usage,
    actor,
    reason: 'FolderUploaded',
    message: `The folder ${shortDigest(upload.digest)} was uploaded. ${next}`,
    details: { digest: upload.digest, bytes },
  });
  const created = await findRevision(transaction, tenantId, deploymentId, revisionId);
  if (created === null) throw new Error('failed to create a revision of an upload: it was not found');
  return { revision: created, generation, created: true };
}

/**
 * Creates the revision of an upload whose content the registry has.
 * @param bytes size of the upload
 * @throws ApiError 400, 404, 409, 412
 */
export function finishUpload(
  deps: ApiDeps,
  request: UploadRequest,
  bytes: number,
): Promise<UploadedRevision> {
  return deps.database.forTenant(request.tenantId).transaction(async (transaction) => {
    const before = await lockUploadTarget(deps, transaction, request);
    const place = placeOf(request);
    if (!(await recordStored(transaction, place, bytes))) throw beingRemoved();
    await checkUploadQuota(deps, transaction, place, bytes);
    const same = await sameRevision(transaction, request, before);
    if (same !== null) return { revision: same, generation: before.generation, created: false };
    return createRevision(deps, transaction, request, before, bytes);
  });
}

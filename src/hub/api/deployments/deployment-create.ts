import { appName } from '../../../contract/resource/names.ts';
import { isOnHost } from '../../../domain/builds/git-host.ts';
import { uuidv7 } from '../../../domain/core/id.ts';
import type { Secret, SourceConfig } from '../../../domain/deployment/deployment.ts';
import {
  type CreateBody,
  toSourceConfig,
  toSourceRevisionConfig,
} from '../../../domain/deployment/deployment-bodies.ts';
import { creationChanges } from '../../../domain/deployment/field-changes.ts';
import { sourceIssues } from '../../../domain/deployment/source-rules.ts';
import { versionOfImage } from '../../../domain/net/image-reference.ts';
import { unmaskSecrets } from '../../../domain/redaction/secret-list.ts';
import { sharedNameIssues } from '../../../domain/run-settings/shared-names.ts';
import { asksForLater } from '../../../workloads/cluster-support.ts';
import { lockIntegration } from '../../store/builds/integrations.ts';
import type { Transaction } from '../../store/core/database.ts';
import type { Actor } from '../../store/core/events.ts';
import type { IdempotentAnswer } from '../../store/core/idempotency.ts';
import type { DeploymentRecord, NewDeployment } from '../../store/core/records.ts';
import { findDeployment, insertDeployment } from '../../store/deployments/deployments.ts';
import type { ApiDeps } from '../core/deps.ts';
import { brokenRules } from '../core/errors.ts';
import { createdAndDeleted, earlierAnswer, type IdempotentCall } from '../core/idempotency.ts';
import { releaseOutlook } from '../revisions/run-settings-response.ts';
import { checkTracingProject } from '../tenancy/tenant-counts.ts';
import {
  checkClusterSupport,
  customResourceOf,
  manifestsOf,
  renderedRevision,
} from './deployment-manifests.ts';
import { choosePlacement, listenerRendering } from './deployment-placement.ts';
import { checkQuota } from './deployment-quota.ts';
import {
  checkRepositoryHost,
  conflict,
  deploymentIssues,
  newRevision,
  repositoryOwner,
  rolledBack,
  serverUrl,
  withCeilings,
} from './deployment-rules.ts';
import type { Outlook } from './deployment-schema.ts';

/** `POST /v2/deployments`: validates, then writes everything in one transaction. */

export interface CreateRequest {
  readonly tenantId: string;
  readonly actor: Actor;
  readonly body: CreateBody;
  readonly dryRun: boolean;
  readonly idempotencyKey: string | null;
}

/** A deployment that was created, or that a dry run would create. */
export interface Created {
  readonly record: DeploymentRecord;
  /**
   * The plaintext secrets of the record; absent: an earlier request created the record, and its secrets may have
   * changed since then.
   */
  readonly secrets?: readonly Secret[];
  /** Present only for a dry run. */
  readonly outlook: Outlook | null;
}

type Draft = Omit<NewDeployment, 'listenerId' | 'namespace'>;
type Drafted = Pick<CreateRequest, 'tenantId' | 'body' | 'actor'>;

const OPERATION = 'POST /v2/deployments';

/** @throws ApiError 422, 400 with all violated rules */
function decide(deps: ApiDeps, { tenantId, body, actor }: Drafted, id: string): Draft {
  checkRepositoryHost(deps, body.source_config.repo_url);
  const name = appName(body.name, id);
  const sourceRevisionConfig = toSourceRevisionConfig(body.source_revision_config, body.secret_references);
  const asked = withCeilings(deps, toSourceConfig(body.source_config), sourceRevisionConfig);
  const sourceConfig = { ...asked, custom_url: asked.custom_url ?? serverUrl(deps, name) };
  const { secrets, issues: masked } = unmaskSecrets([], body.secrets);
  const configs = { sourceConfig, sourceRevisionConfig };
  const issues = [
    ...sourceIssues({
      source: body.source,
      asked: { sourceConfig: asked, sourceRevisionConfig },
      next: configs,
      creating: true,
      hosting: deps.hosting,
      registry: deps.registry,
      ...(deps.builds === undefined ? {} : { builds: deps.builds }),
      owner: repositoryOwner(deps, { tenantId, appName: name }),
    }),
    ...masked,
    ...sharedNameIssues(
      { sourceRevisionConfig, secrets },
      { sentEnv: true, sentReferences: true, sentSecrets: true },
    ),
    ...deploymentIssues(deps, { ...configs, secrets, appName: name }),
  ];
  if (issues.length > 0) throw brokenRules(issues);
  const waitsForImage = body.source === 'internal_image' && sourceRevisionConfig.image_uri === null;
  return {
    id,
    name: body.name,
    source: body.source,
    ...configs,
    secrets,
    appName: name,
    imageVersion: versionOfImage(sourceRevisionConfig.image_uri),
    revision: waitsForImage ? null : newRevision(body.source, sourceRevisionConfig),
    actor,
  };
}

/** The deployment that an earlier request with the same Idempotency-Key wrote, and its status; null: the first request. */
export async function writtenBefore(
  deps: ApiDeps,
  transaction: Transaction,
  call: IdempotentCall,
  answer: IdempotentAnswer,
): Promise<{ readonly record: DeploymentRecord; readonly statusCode: number } | null> {
  const earlier = await earlierAnswer(deps, transaction, call, answer);
  if (earlier === null) return null;
  const record = await findDeployment(transaction, call.tenantId, earlier.deploymentId);
  if (record === null) throw createdAndDeleted('deployment');
  return { record, statusCode: earlier.statusCode };
}

async function insert(
  deps: ApiDeps,
  transaction: Transaction,
  { tenantId, dryRun }: Pick<CreateRequest, 'tenantId' | 'dryRun'>,
  draft: Draft,
): Promise<Created> {
  await checkIntegration(transaction, tenantId, draft.sourceConfig);
  await checkTracingProject(deps, transaction, tenantId, draft.name);
  const { listener, namespace } = await choosePlacement(transaction, deps, tenantId, draft.sourceConfig);
  const names = draft.secrets.map((secret) => secret.name);
  const { sourceConfig, sourceRevisionConfig } = draft;
  const asked = { deploymentId: null, sourceConfig, sourceRevisionConfig, secretNames: names };
  const usage = await checkQuota(deps, transaction, tenantId, asked);
  const added = { ...draft, listenerId: listener.id, namespace, usage };
  const record = await insertDeployment(transaction, deps.secretBox, tenantId, added);
  const created = { record, secrets: draft.secrets, outlook: null };
  // Most deployments use no feature that depends on the cluster, so their resource is not rendered.
  if (!dryRun && !asksForLater(draft.sourceConfig)) return created;
  const revision = draft.revision === null ? null : renderedRevision(record, draft.revision, 1);
  const resource = customResourceOf(deps, record, revision, names);
  const rendering = listenerRendering(listener);
  checkClusterSupport(resource, rendering);
  if (!dryRun) return created;
  const outlook = {
    manifests: manifestsOf(resource, rendering),
    new_revision: revision !== null,
    builds: revision !== null && record.source === 'git_host',
    pods_roll: false,
    rolls: [],
    ...releaseOutlook(revision === null ? null : sourceRevisionConfig),
    effects: [],
    changes: creationChanges(draft),
  };
  return { ...created, outlook };
}

/**
 * Creates a deployment in a transaction of the caller.
 * @throws ApiError 422, 400; UniqueViolation (see `conflict`)
 */
export const createIn = (
  deps: ApiDeps,
  transaction: Transaction,
  request: Omit<CreateRequest, 'idempotencyKey'>,
  id: string,
): Promise<Created> => insert(deps, transaction, request, decide(deps, request, id));

async function write(
  deps: ApiDeps,
  transaction: Transaction,
  request: CreateRequest,
  id: string,
  decided: Draft | null,
): Promise<Created> {
  const { tenantId, idempotencyKey, body, dryRun } = request;
  const call = { tenantId, idempotencyKey, operation: OPERATION, body };
  const answer = { statusCode: 201, deploymentId: id };
  const made = dryRun ? null : await writtenBefore(deps, transaction, call, answer);
  if (made !== null) return { record: made.record, outlook: null };
  return insert(deps, transaction, request, decided ?? decide(deps, request, id));
}

/**
 * Creates a deployment with its tracing project and first revision, or returns what would be created.
 * @throws ApiError 400, 409
 */
export async function createDeployment(deps: ApiDeps, request: CreateRequest): Promise<Created> {
  const id = uuidv7();
  // An earlier request with the same key may have created the deployment under other rules. The current rules apply
  // only if the earlier request did not create the deployment.
  const decided = request.idempotencyKey === null ? decide(deps, request, id) : null;
  const scope = deps.database.forTenant(request.tenantId);
  const work = (transaction: Transaction) => write(deps, transaction, request, id, decided);
  try {
    return await (request.dryRun ? rolledBack(scope.transaction, work) : scope.transaction(work));
  } catch (error) {
    throw conflict(error);
  }
}

/**
 * Looks up the integration that a new deployment names and locks it against deletion until the transaction ends.
 * @throws ApiError 400 that names the field
 */
async function checkIntegration(
  transaction: Transaction,
  tenantId: string,
  { integration_id: id, repo_url: repository }: SourceConfig,
): Promise<void> {
  if (id === null) return;
  const integration = await lockIntegration(transaction, tenantId, id);
  if (integration === null) {
    const loc = ['source_config', 'integration_id'];
    throw brokenRules([
      { loc, msg: 'must be the id of an existing integration', type: 'integration_unknown' },
    ]);
  }
  if (repository === null || isOnHost(repository, integration.hostUrl)) return;
  const msg = `must be below ${integration.hostUrl}, because the token of the integration is only for this host`;
  throw brokenRules([{ loc: ['source_config', 'repo_url'], msg, type: 'integration_other_host' }]);
}

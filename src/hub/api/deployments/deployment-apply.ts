import { setTimeout as sleep } from 'node:timers/promises';
import { uuidv7 } from '../../../domain/core/id.ts';
import { type ApplyBody, applyAsCreation, applyAsPatch } from '../../../domain/deployment/apply.ts';
import type { Secret } from '../../../domain/deployment/deployment.ts';
import type { Transaction } from '../../store/core/database.ts';
import { StaleWrite, UniqueViolation } from '../../store/core/errors.ts';
import type { Actor } from '../../store/core/events.ts';
import type { DeploymentRecord } from '../../store/core/records.ts';
import { findDeploymentForUpdate, findNameHolder } from '../../store/deployments/deployments.ts';
import type { ApiDeps } from '../core/deps.ts';
import { ApiError, brokenRules, wrongShape } from '../core/errors.ts';
import { checkIfMatch, checkIfNoneMatch } from '../core/etag.ts';
import { changeIn, changing } from './deployment-change.ts';
import { createIn, writtenBefore } from './deployment-create.ts';
import { conflict } from './deployment-rules.ts';
import type { Outlook } from './deployment-schema.ts';
import { secretsBeforePatch } from './deployment-secrets.ts';

/** `PUT /v2/deployments/by-name/{name}`: creates the deployment of this name, or changes it to the desired state. */

export interface ApplyRequest {
  readonly tenantId: string;
  readonly actor: Actor;
  readonly name: string;
  readonly body: ApplyBody;
  readonly ifMatch: string | undefined;
  readonly ifNoneMatch: string | undefined;
  readonly dryRun: boolean;
  readonly idempotencyKey: string | null;
}

/** A deployment that was created, changed or left unchanged, or that a dry run would create or change. */
export interface Applied {
  readonly record: DeploymentRecord;
  readonly created: boolean;
  /** The stored generation; in a dry run, the generation before the change; null: the dry run would create it. */
  readonly generation: number | null;
  /** The data services that the change restarts, with the reasons. */
  readonly effects: readonly string[];
  /** The plaintext secrets of the record, if they are known. */
  readonly secrets?: readonly Secret[];
  /** Present only for a dry run. */
  readonly outlook: Outlook | null;
}

/** The name was given to another deployment, or became free, while the request ran. */
class HolderChanged extends Error {}

/** Attempts of a request whose name changes its holder. A second attempt nearly always succeeds. */
const MAX_ATTEMPTS = 5;
const RETRY_BASE_MS = 10;

/** @throws ApiError 400 */
function checkName({ name, body }: ApplyRequest): void {
  if (body.name === undefined || body.name === name) return;
  throw brokenRules([{ loc: ['name'], msg: 'must be the name of the path', type: 'name_differs' }]);
}

/** The deployment that an earlier request with the same Idempotency-Key created or changed; null: the first request. */
async function appliedBefore(
  deps: ApiDeps,
  transaction: Transaction,
  { tenantId, name, body, idempotencyKey, dryRun }: ApplyRequest,
  present: { readonly statusCode: number; readonly deploymentId: string },
): Promise<Applied | null> {
  if (dryRun) return null;
  const operation = `PUT /v2/deployments/by-name/${encodeURIComponent(name)}`;
  const call = { tenantId, idempotencyKey, operation, body };
  const earlier = await writtenBefore(deps, transaction, call, present);
  if (earlier === null) return null;
  const { record, statusCode } = earlier;
  return {
    record,
    created: statusCode === 201,
    generation: record.generation,
    effects: [],
    outlook: null,
  };
}

async function create(
  deps: ApiDeps,
  transaction: Transaction,
  request: ApplyRequest,
  id: string,
): Promise<Applied> {
  const { tenantId, actor, name, body, dryRun } = request;
  if (body.source_revision_config.repo_commit_sha != null) {
    const loc = ['body', 'source_revision_config', 'repo_commit_sha'];
    throw wrongShape([{ loc, msg: 'must not be set: only the server sets it', type: 'read_only' }]);
  }
  const creation = { tenantId, actor, dryRun, body: applyAsCreation(name, body) };
  const made = await createIn(deps, transaction, creation, id);
  return { ...made, created: true, generation: dryRun ? null : made.record.generation, effects: [] };
}

async function change(
  deps: ApiDeps,
  transaction: Transaction,
  { actor, body, dryRun }: ApplyRequest,
  before: DeploymentRecord,
): Promise<Applied> {
  if (before.source !== body.source) {
    throw new ApiError(
      409,
      `The deployment has the source ${before.source}, which cannot be changed to ${body.source}. Use another name, or ` +
        'delete the deployment first.',
    );
  }
  const patch = applyAsPatch(body);
  const secrets = secretsBeforePatch(deps.secretBox, before, patch);
  const changed = await changeIn(deps, transaction, { before, secrets, body: patch, actor, dryRun });
  return { ...changed, created: false };
}

/** Locks the holder of the name. @throws HolderChanged when its deletion was requested in the meantime */
async function lockHolder(
  transaction: Transaction,
  tenantId: string,
  holderId: string,
): Promise<DeploymentRecord> {
  const record = await findDeploymentForUpdate(transaction, tenantId, holderId);
  if (record === null || record.deleteRequestedAt !== null) throw new HolderChanged();
  return record;
}

async function apply(deps: ApiDeps, transaction: Transaction, request: ApplyRequest): Promise<Applied> {
  const { tenantId, name } = request;
  const holderId = await findNameHolder(transaction, tenantId, name);
  const deploymentId = holderId ?? uuidv7();
  const present = { statusCode: holderId === null ? 201 : 200, deploymentId };
  const earlier = await appliedBefore(deps, transaction, request, present);
  if (earlier !== null) return earlier;
  const before = holderId === null ? null : await lockHolder(transaction, tenantId, holderId);
  checkIfMatch(request.ifMatch, before?.generation ?? null);
  checkIfNoneMatch(request.ifNoneMatch, before?.generation ?? null);
  return before === null
    ? create(deps, transaction, request, deploymentId)
    : change(deps, transaction, request, before);
}

/** Whether the transaction lost the name to a concurrent request, or lost its holder. */
const isOvertaken = (error: unknown) =>
  error instanceof HolderChanged ||
  (error instanceof UniqueViolation && error.constraint === 'deployments_name');

/**
 * Creates or changes the deployment of a name. Of two concurrent requests for a new name, the second one waits for the
 * first one at the unique index of names, and then finds its deployment.
 * @throws ApiError 400, 409, 412, 422
 */
export async function applyDeployment(deps: ApiDeps, request: ApplyRequest): Promise<Applied> {
  checkName(request);
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
    try {
      return await changing(deps, request, (transaction) => apply(deps, transaction, request));
    } catch (error) {
      if (!isOvertaken(error)) throw conflict(error);
      await sleep(Math.random() * RETRY_BASE_MS * 2 ** attempt);
    }
  }
  throw new StaleWrite(`the deployment ${request.name}`);
}

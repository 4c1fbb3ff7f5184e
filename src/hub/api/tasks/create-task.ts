import type { z } from 'zod';
import { taskName } from '../../../contract/resource/names.ts';
import { uuidv7 } from '../../../domain/core/id.ts';
import { capsFor } from '../../../domain/policy/policy.ts';
import { SCHEDULE_DEFAULTS } from '../../../domain/schedules/schedules.ts';
import { TASK_LIMITS } from '../../../domain/tasks/task.ts';
import type { Transaction } from '../../store/core/database.ts';
import type { Actor } from '../../store/core/events.ts';
import type { DeploymentRecord } from '../../store/core/records.ts';
import { findDeployment } from '../../store/deployments/deployments.ts';
import { findRevision, type RevisionRecord } from '../../store/deployments/revisions.ts';
import { listenerAbilities } from '../../store/listeners/log-requests.ts';
import {
  findActiveRun,
  findTask,
  insertTask,
  lockRunningTasks,
  type TaskRecord,
} from '../../store/tasks/tasks.ts';
import type { ApiDeps } from '../core/deps.ts';
import { ApiError, brokenRules, deletionConflict, notFound } from '../core/errors.ts';
import { createdAndDeleted, earlierAnswer } from '../core/idempotency.ts';
import type { createTaskSchema } from './task-schema.ts';

/** Creates a task: checks the deployment, the policy and the quota, and stores the order for the listener. */

type Command = z.infer<typeof createTaskSchema>;

export interface TaskRequest {
  readonly tenantId: string;
  readonly deploymentId: string;
  /** What to run: a command, or the name of a schedule. */
  readonly body: Command | { readonly schedule: string };
  readonly actor: Actor;
  readonly idempotencyKey: string | null;
}

export interface CreatedTask {
  readonly task: TaskRecord;
  /** Whether the listener observes the cluster now. */
  readonly isAlive: boolean;
}

const OUTDATED =
  'The listener of the cluster has an older version, which cannot run tasks. Upgrade the listener to the version of the hub.';

/** @throws ApiError 400, 404, 409 */
export async function createTask(
  deps: Pick<ApiDeps, 'policy' | 'secretBox'>,
  transaction: Transaction,
  request: TaskRequest,
): Promise<CreatedTask> {
  const { tenantId, deploymentId, body, actor, idempotencyKey } = request;
  const id = uuidv7();
  const schedule = 'schedule' in body ? body.schedule : null;
  const path = schedule === null ? 'tasks' : `schedules/${schedule}/run`;
  const operation = `POST /v2/deployments/${deploymentId}/${path}`;
  const call = { tenantId, idempotencyKey, operation, body };
  const earlier = await earlierAnswer(deps, transaction, call, {
    statusCode: 201,
    deploymentId,
    revisionId: id,
  });
  if (earlier !== null) return repeated(transaction, request, earlier.revisionId ?? '');
  const running = await lockRunningTasks(transaction, tenantId);
  const deployment = await findDeployment(transaction, tenantId, deploymentId);
  if (deployment === null) throw notFound('deployment');
  await checkDeployment(transaction, deployment);
  const command = 'schedule' in body ? await scheduledCommand(transaction, deployment, body.schedule) : body;
  checkSizes(deps, deployment, command);
  const most = deps.policy.tenant_counts.running_tasks;
  if (running >= most) {
    const msg = `the tenant has ${running} tasks that have not ended, and the policy allows ${most}: wait for one, or cancel one`;
    throw brokenRules([{ loc: [], msg, type: 'count_running_tasks' }]);
  }
  const revision = await revisionOf(transaction, deployment, command.revision_id ?? null);
  const component = command.component ?? 'api';
  const name = taskName(deployment.appName, id);
  await insertTask(
    transaction,
    {
      id,
      tenantId,
      deploymentId,
      listenerId: deployment.listenerId,
      name,
      namespace: deployment.namespace,
      appName: deployment.appName,
      revisionId: revision.id,
      revisionNumber: revision.number,
      component,
      command: command.command,
      timeoutSeconds: command.timeout_seconds ?? TASK_LIMITS.defaultTimeoutSeconds,
      cpu: command.cpu ?? null,
      memoryMb: command.memory_mb ?? null,
      schedule,
      actor,
    },
    `The task ${name} was requested for revision ${revision.number}${schedule === null ? '' : `, as a run of the schedule ${schedule}`}.`,
  );
  const task = await findTask(transaction, tenantId, deploymentId, id);
  if (task === null) throw new Error('failed to create a task: its row does not exist');
  return { task, isAlive: deployment.listener.alive };
}

/**
 * The command of a schedule.
 * @throws ApiError 404, 409
 */
async function scheduledCommand(
  transaction: Transaction,
  { id, sourceConfig: { schedules = [] } }: DeploymentRecord,
  name: string,
): Promise<Command> {
  const schedule = schedules.find((each) => each.name === name);
  if (schedule === undefined) throw notFound('schedule');
  const { command, component, timeout_seconds, concurrency = SCHEDULE_DEFAULTS.concurrency } = schedule;
  const active = concurrency === 'allow' ? null : await findActiveRun(transaction, id, name);
  if (active !== null)
    throw new ApiError(
      409,
      `The run ${active} of the schedule has not ended, and its concurrency is ${concurrency}. Wait for it, or cancel it.`,
    );
  return { command, component, timeout_seconds };
}

async function repeated(
  transaction: Transaction,
  { tenantId, deploymentId }: TaskRequest,
  taskId: string,
): Promise<CreatedTask> {
  const deployment = await findDeployment(transaction, tenantId, deploymentId);
  const task = await findTask(transaction, tenantId, deploymentId, taskId);
  if (deployment === null || task === null) throw createdAndDeleted('task');
  return { task, isAlive: deployment.listener.alive };
}

/** @throws ApiError 409 */
async function checkDeployment(transaction: Transaction, deployment: DeploymentRecord): Promise<void> {
  if (deployment.deleteRequestedAt !== null) throw deletionConflict();
  if (deployment.sourceConfig.resource_spec?.max_scale === 0)
    throw new ApiError(
      409,
      'The deployment is switched off (max_scale is 0), so its database does not run. Switch it on first.',
    );
  const abilities = await listenerAbilities(transaction, deployment.listenerId);
  if (abilities !== null && !abilities.includes('tasks')) throw new ApiError(409, OUTDATED);
}

/** @throws ApiError 400 */
function checkSizes(
  { policy }: Pick<ApiDeps, 'policy'>,
  { deploymentType }: DeploymentRecord,
  { cpu, memory_mb: memory }: Command,
): void {
  const caps = capsFor(policy, deploymentType);
  const over = [
    { field: 'cpu', value: cpu, most: caps.cpu },
    { field: 'memory_mb', value: memory, most: caps.memory_mb },
  ].filter(({ value, most }) => value != null && value > most);
  if (over.length === 0) return;
  throw brokenRules(
    over.map(({ field, most }) => ({
      loc: [field],
      msg: `must be at most ${most}, the cap of the policy`,
      type: 'policy_cap',
    })),
  );
}

/** @throws ApiError 404, 409 */
async function revisionOf(
  transaction: Transaction,
  { tenantId, id, activeRevisionId }: DeploymentRecord,
  wanted: string | null,
): Promise<RevisionRecord> {
  const revisionId = wanted ?? activeRevisionId;
  if (revisionId === null)
    throw new ApiError(
      409,
      'The deployment has no active revision yet. Wait for its rollout, or name a revision.',
    );
  const revision = await findRevision(transaction, tenantId, id, revisionId);
  if (revision === null) throw notFound('revision');
  return revision;
}

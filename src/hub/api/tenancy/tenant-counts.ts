import type { CountedThing } from '../../../domain/core/tenant-counts.ts';
import type { Transaction } from '../../store/core/database.ts';
import { exceedsProjectLimit, hasReachedLimit } from '../../store/tenancy/tenant-counts.ts';
import type { ApiDeps } from '../core/deps.ts';
import { type ApiError, brokenRules } from '../core/errors.ts';

/** Checks the number of objects of a tenant against the policy's tenant_counts. */

type CountDeps = Pick<ApiDeps, 'policy' | 'projectRoom'>;

function full(thing: CountedThing, most: number, loc: readonly string[]): ApiError {
  const words = thing.replaceAll('_', ' ');
  const msg = `the tenant has ${most} ${words}, which is the maximum of the policy: delete one first`;
  return brokenRules([{ loc: [...loc], msg, type: `count_${thing}` }]);
}

/**
 * Must be called in the transaction that creates the object, before any other lock.
 * @throws ApiError 400 when the tenant has reached the limit
 */
export async function checkCount(
  { policy }: CountDeps,
  transaction: Transaction,
  tenantId: string,
  thing: CountedThing,
): Promise<void> {
  const most = policy.tenant_counts[thing];
  if (await hasReachedLimit(transaction, tenantId, thing, most)) throw full(thing, most, []);
}

/**
 * Checks the tracing projects for a new deployment, which also creates its tracing project unless a project of its name
 * exists. @throws ApiError 400
 */
export async function checkTracingProject(
  { policy, projectRoom }: CountDeps,
  transaction: Transaction,
  tenantId: string,
  name: string,
): Promise<void> {
  const most = policy.tenant_counts.tracing_projects;
  if (await exceedsProjectLimit(transaction, tenantId, name, most, projectRoom))
    throw full('tracing_projects', most, ['name']);
}

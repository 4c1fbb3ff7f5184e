import { AsyncLocalStorage } from 'node:async_hooks';
import { NO_TENANT } from '../../../domain/scheduling/fair-limiter.ts';

/**
 * The tenant on whose behalf calls are made. Every call that a worker starts for a key belongs to the key's tenant, at
 * any depth of nested calls.
 */

const present = new AsyncLocalStorage<string>();

/** Runs a task. The calls of the task, including asynchronous calls, are on behalf of the tenant. */
export function onBehalfOf<T>(tenant: string, task: () => T): T {
  return present.run(tenant, task);
}

/** The tenant of the current code. */
export function currentTenant(): string {
  return present.getStore() ?? NO_TENANT;
}

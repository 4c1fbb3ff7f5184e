import { AsyncLocalStorage } from 'node:async_hooks';
import { NO_GROUP } from '../../../domain/scheduling/turns.ts';

/**
 * The group (tenant) on whose behalf calls are made. Every call that a worker starts for a key belongs to the key's
 * group, at any depth of nested calls.
 */

const present = new AsyncLocalStorage<string>();

/** Runs a task. The calls of the task, including asynchronous calls, are on behalf of the group. */
export function onBehalfOf<T>(group: string, task: () => T): T {
  return present.run(group, task);
}

/** The group of the current code. The default means that no group is set. */
export function currentGroup(): string {
  return present.getStore() ?? NO_GROUP;
}

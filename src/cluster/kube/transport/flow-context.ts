import { AsyncLocalStorage } from 'node:async_hooks';
import { NOBODY } from '../../../domain/scheduling/turns.ts';

/**
 * The group (tenant) on whose behalf calls are made. Every call that a worker starts for a key belongs to the key's
 * group, however deeply nested.
 */

const present = new AsyncLocalStorage<string>();

/** Runs a task. Its calls, including asynchronous ones, are on behalf of the group. */
export function onBehalfOf<T>(group: string, task: () => T): T {
  return present.run(group, task);
}

/** The group of the current code. The default stands for no particular group. */
export function currentGroup(): string {
  return present.getStore() ?? NOBODY;
}

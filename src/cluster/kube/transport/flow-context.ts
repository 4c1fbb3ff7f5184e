import { AsyncLocalStorage } from 'node:async_hooks';
import { NOBODY } from '../../../domain/scheduling/turns.ts';

/** On whose behalf (a tenant's) calls are made: what a worker begins for a key is of the key's group, however deep. */

const present = new AsyncLocalStorage<string>();

/** Runs a task; whatever it calls, and awaits, is on behalf of the group. */
export function onBehalfOf<T>(group: string, task: () => T): T {
  return present.run(group, task);
}

/** The group of what runs now; NOBODY: nobody's in particular. */
export function presentGroup(): string {
  return present.getStore() ?? NOBODY;
}

import type { LoggedContainer } from './workload-pod.ts';

/** Which of many containers are read, where not all can be at once. Pure. */

/** Logs of one reader that are read at once. */
export const MOST_CONTAINERS = 50;
/** Pods that are named of those that were left. */
const MOST_NAMED = 5;
const NAMED_CHARACTERS = 600;

export interface Chosen {
  readonly read: readonly LoggedContainer[];
  /** There was no room for these. */
  readonly left: readonly LoggedContainer[];
}

/**
 * Those that are being read already go on, then running ones, then those that have ended: what these have to say stays
 * where it is, and they give their places back at once.
 * @param tail what is known of a container's log; those that are done need no place
 */
export function chooseContainers(
  all: readonly LoggedContainer[],
  tail: (key: string) => { readonly isRunning: boolean; readonly isDone: boolean } | undefined,
): Chosen {
  const rank = ({ key, hasEnded }: LoggedContainer) => (tail(key)?.isRunning ? 0 : hasEnded ? 2 : 1);
  const open = all.filter(({ key }) => tail(key)?.isDone !== true).sort((a, b) => rank(a) - rank(b));
  return { read: open.slice(0, MOST_CONTAINERS), left: open.slice(MOST_CONTAINERS) };
}

/** What was left, as a sentence; '': nothing was. */
export function leftSentence(left: readonly LoggedContainer[]): string {
  if (left.length === 0) return '';
  const pods = [...new Set(left.map(({ pod }) => pod.name))];
  const named = pods.slice(0, MOST_NAMED).join(', ').slice(0, NAMED_CHARACTERS);
  const more = pods.length > MOST_NAMED ? ' and others' : '';
  return ` The logs of ${left.length} more containers were not read, of the pods ${named}${more}: ask for one component.`;
}

/** A line in place of those of a container that is left while others are followed. */
export const LEFT_LINE = `Not followed by Berth: the logs of ${MOST_CONTAINERS} other containers are. Ask for one component.`;

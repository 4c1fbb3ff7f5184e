import type { LoggedContainer } from './workload-pod.ts';

/** Selects the containers that are read when a deployment has more containers than can be read at once. Pure. */

/** Maximum number of logs that are read at the same time for one reader. */
export const MAX_CONTAINERS_READ = 50;
/** Number of skipped pods that are named in a message. */
const MAX_NAMED = 5;
const NAMED_CHARACTERS = 600;

export interface Chosen {
  readonly read: readonly LoggedContainer[];
  /** Containers without a slot. */
  readonly left: readonly LoggedContainer[];
}

/**
 * Containers that are being read keep their slot. The remaining slots are assigned to running containers first.
 * Containers that have ended come last, because their lines do not change, and they free their slots at once.
 * @param tail state of a container's log. A complete log needs no slot
 */
export function selectContainers(
  all: readonly LoggedContainer[],
  tail: (key: string) => { readonly isRunning: boolean; readonly isDone: boolean } | undefined,
): Chosen {
  const rank = ({ key, hasEnded }: LoggedContainer) => (tail(key)?.isRunning ? 0 : hasEnded ? 2 : 1);
  const open = all.filter(({ key }) => tail(key)?.isDone !== true).sort((a, b) => rank(a) - rank(b));
  return { read: open.slice(0, MAX_CONTAINERS_READ), left: open.slice(MAX_CONTAINERS_READ) };
}

/** A sentence about the skipped containers; '' when all were read. */
export function skippedSentence(left: readonly LoggedContainer[]): string {
  if (left.length === 0) return '';
  const pods = [...new Set(left.map(({ pod }) => pod.name))];
  const named = pods.slice(0, MAX_NAMED).join(', ').slice(0, NAMED_CHARACTERS);
  const more = pods.length > MAX_NAMED ? ' and others' : '';
  return (
    ` The logs of ${left.length} more containers were not read. Pods of these containers: ${named}${more}. ` +
    `Request one component.`
  );
}

/** The line that replaces the log of a skipped container while other logs are followed. */
export const SKIPPED_LINE =
  `Berth does not follow this log, because it follows the logs of ${MAX_CONTAINERS_READ} ` +
  `other containers. Request one component.`;

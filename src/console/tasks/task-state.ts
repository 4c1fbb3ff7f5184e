import type { Task } from '../api/types.ts';
import type { Tone } from '../ui/tone.ts';

/** How the states of tasks are shown. */

type TaskState = Task['state'];

const TONES: Readonly<Record<TaskState, Tone>> = {
  QUEUED: 'busy',
  RUNNING: 'busy',
  SUCCEEDED: 'good',
  FAILED: 'bad',
  TIMED_OUT: 'bad',
  CANCELLED: 'off',
  UNKNOWN: 'unsure',
};

const FINAL: ReadonlySet<TaskState> = new Set(['SUCCEEDED', 'FAILED', 'TIMED_OUT', 'CANCELLED']);

/** Whether the state never changes again. */
export const isFinal = (state: TaskState): boolean => FINAL.has(state);

/** A state as a mark. Only a state that can change can be out of date. */
export const markOf = (state: TaskState, isStale: boolean) => ({
  tone: TONES[state] ?? 'unsure',
  text: state,
  isStale: isStale && !isFinal(state),
});

/** Why a task is in its state, without what the state says itself. */
export const reasonOf = ({ reason, cancel_requested: isCancelled, state }: Task): string | null =>
  reason ?? (isCancelled && !isFinal(state) ? 'cancellation requested' : null);

const MAX_WORDS = 6;
const MAX_LENGTH = 60;

/** The first words of a command, each shortened, for a list. */
export function shortWords(command: readonly string[]): readonly string[] {
  const shown = command
    .slice(0, MAX_WORDS)
    .map((word) => (word.length > MAX_LENGTH ? `${[...word].slice(0, MAX_LENGTH).join('')}…` : word));
  return command.length > MAX_WORDS ? [...shown, '…'] : shown;
}

/** Whether the task can have printed something. Before its start, the API answers that it has no pod. */
export const hasOutput = ({ state, started_at: startedAt }: Pick<Task, 'state' | 'started_at'>): boolean =>
  startedAt !== null || state === 'RUNNING' || state === 'UNKNOWN';

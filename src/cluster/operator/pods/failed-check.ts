import { maskCredentials } from '../../../domain/redaction/printed-credentials.ts';
import type { FailedCheck, ObservedPod, WarningEvent } from '../observed.ts';
import type { PodTrouble } from './pod-trouble.ts';

/** Containers that the kubelet ended because a health check failed. Only an Event contains the answer of the check. */

/** Exit codes of a program that the kubelet has ended: by itself after SIGTERM, by SIGTERM, by SIGKILL. */
const ENDED_FROM_OUTSIDE: ReadonlySet<number> = new Set([0, 143, 137]);

/** Whether a failed health check may have ended the app container. A program may end with any exit code after SIGTERM. */
export function mayBeEndedByCheck({ container, exitCode, restarts, message }: PodTrouble): boolean {
  return (
    container?.kind === 'app' && restarts > 0 && exitCode !== undefined && !message.includes('OOMKilled')
  );
}

/** A failed readiness probe ends no container. The client of the kubelet may combine similar Events. */
const ENDS_CONTAINER = /^(?:\(combined from similar events\): )?(?:Startup|Liveness) probe /;
const IS_LIVENESS = /^(?:\(combined from similar events\): )?Liveness probe /;

/** Since when the pod is not ready, in ms since the epoch. */
function unreadySince({ status }: ObservedPod): number {
  const ready = status?.conditions?.find(({ type, status: is }) => type === 'Ready' && is === 'False');
  return Date.parse(ready?.lastTransitionTime ?? '');
}

/** A check does not end a run that is shorter than two of its periods at the start. */
const SHORTEST_ENDED_RUN_MS = 4_000;

/** Whether the kubelet may have ended the run: a signal did, or the program handled the signal and had run long enough. */
const mayBeEndedByKubelet = ({ exitCode, ranMs = 0 }: PodTrouble) =>
  exitCode !== 0 || ranMs >= SHORTEST_ENDED_RUN_MS;

/**
 * Whether a check that failed at this time may have ended the run of the container. The failure belongs to that run. If the
 * kubelet may have ended the run, the failure may also belong to an earlier run since the pod was last ready: the kubelet
 * records 25 Events of a pod at once, and then one in five minutes, so the last runs often have no Event.
 */
function isOfRun({ at }: FailedCheck, trouble: PodTrouble, pod: ObservedPod): boolean {
  const starts = [
    trouble.ranSince ?? Number.NaN,
    mayBeEndedByKubelet(trouble) ? unreadySince(pod) : Number.NaN,
  ];
  const known = starts.filter((time) => !Number.isNaN(time));
  return known.length === 0 || at >= Math.min(...known);
}

/**
 * Whether a failed check has ended a program with an exit code of its own. Only a failure in that run counts. While a program
 * starts, its checks fail, also if it then ends by itself, so a startup probe counts only if the kubelet ended the run.
 */
function hasEndedRun({ at, message }: FailedCheck, { ranSince }: PodTrouble, killedAt: readonly number[]) {
  if (ranSince === undefined || at < ranSince) return false;
  return IS_LIVENESS.test(message) || killedAt.some((time) => time >= ranSince);
}

/** While a program starts, it accepts no connection. An answer of the program says more. */
const NO_ANSWER = /connection refused/;

/** Adds the last answer of the health check that may have ended the container. */
export function withLastCheck(
  trouble: PodTrouble,
  pod: ObservedPod,
  event: WarningEvent | undefined,
): PodTrouble {
  if (!mayBeEndedByCheck(trouble)) return trouble;
  const { checks: failed = [], killedAt = [] } = event ?? {};
  const isOutside = ENDED_FROM_OUTSIDE.has(trouble.exitCode ?? Number.NaN);
  const checks = failed.filter(
    (each) =>
      ENDS_CONTAINER.test(each.message) &&
      (isOutside ? isOfRun(each, trouble, pod) : hasEndedRun(each, trouble, killedAt)),
  );
  const check = checks.find(({ message }) => !NO_ANSWER.test(message)) ?? checks[0];
  if (check === undefined) return trouble;
  const said = `last health check: ${maskCredentials(check.message)}`;
  const detail = trouble.detail === undefined ? said : `${trouble.detail}; ${said}`;
  return { ...trouble, message: `${trouble.message}; ${said}`, detail };
}

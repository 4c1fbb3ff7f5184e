import { warningWithoutValues } from '../access/withheld-output.ts';
import type { Observed, ObservedPod, WarningEvent } from '../observed.ts';

/** The warnings about a pod. They contain no output of the pod if it must not be shown. */
export function warningOf({ warnings }: Observed, pod: ObservedPod): WarningEvent | undefined {
  const event = warnings?.get(pod.metadata.uid ?? '');
  if (event === undefined || !pod.withheld) return event;
  return warningWithoutValues(event, pod.commandChecks === true);
}

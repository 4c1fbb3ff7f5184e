import { ANNOTATIONS } from '../../../contract/resource/names.ts';
import type { Condition, ConditionType, Reason } from '../../../domain/conditions/conditions.ts';
import type { ObservedResource } from '../observed.ts';

/** What a condition says now. */
export interface Finding {
  readonly status: Condition['status'];
  readonly reason: Reason;
  readonly message: string;
}

/** It holds. */
export const yes = (reason: Reason, message: string): Finding => ({ status: 'True', reason, message });
/** It does not. */
export const no = (reason: Reason, message: string): Finding => ({ status: 'False', reason, message });

/** Long enough to name a culprit, short enough for a table; the CRD allows four times as much. */
const MAX_MESSAGE = 1024;

/**
 * Findings as conditions. lastTransitionTime moves only when the status does; null: what was said before still stands
 * (or, if nothing was, the condition is left out).
 */
export function toConditions(
  findings: Readonly<Partial<Record<ConditionType, Finding | null>>>,
  resource: ObservedResource,
  now: Date,
): Condition[] {
  return Object.entries(findings).flatMap(([type, finding]) => {
    const before = conditionOf(resource, type as ConditionType);
    if (finding === null) return before === undefined ? [] : [before];
    const { status, reason, message } = finding;
    const sameStatus = before !== undefined && before.status === status;
    return [
      {
        type,
        status,
        reason,
        message: shortened(message),
        observedGeneration: resource.metadata.generation,
        lastTransitionTime: sameStatus ? before.lastTransitionTime : seconds(now),
      },
    ];
  });
}

/** What the cluster says may be of any length. */
export function shortened(text: string, most = MAX_MESSAGE): string {
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}

/** A condition as it stands in the resource's status. */
export function conditionOf(resource: ObservedResource, type: ConditionType): Condition | undefined {
  return resource.status?.conditions?.find((condition) => condition.type === type);
}

/** Whether the annotation forbids us to touch anything. */
export function isPaused(resource: { metadata: { annotations?: Record<string, string> } }): boolean {
  return resource.metadata.annotations?.[ANNOTATIONS.paused] === 'true';
}

/** metav1.Time: no fractions. */
function seconds(date: Date): string {
  return date.toISOString().replace(/\.\d+Z$/, 'Z');
}

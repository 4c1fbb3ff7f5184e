import { MANAGED_DEPLOYMENT } from '../../../contract/resource/definition.ts';
import { ANNOTATIONS } from '../../../contract/resource/names.ts';
import type { Condition, ConditionType, Reason } from '../../../domain/conditions/conditions.ts';
import type { ObservedResource } from '../observed.ts';

/** The current value of a condition. */
export interface Finding {
  readonly status: Condition['status'];
  readonly reason: Reason;
  readonly message: string;
}

/** A condition with status True. */
export const yes = (reason: Reason, message: string): Finding => ({ status: 'True', reason, message });
/** A condition with status False. */
export const no = (reason: Reason, message: string): Finding => ({ status: 'False', reason, message });

/**
 * Maximum length of a message. A message must name the cause and fit into a table. The CRD allows four times this
 * length.
 */
const MAX_MESSAGE = 1024;

/**
 * Converts findings to conditions. lastTransitionTime changes only with the status. null keeps the former condition, or
 * omits the condition if it did not exist.
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

/** Shortens a text, because messages of the cluster have no maximum length. */
export function shortened(text: string, most = MAX_MESSAGE): string {
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}

/** A condition in the resource's status. */
export function conditionOf(resource: ObservedResource, type: ConditionType): Condition | undefined {
  return resource.status?.conditions?.find((condition) => condition.type === type);
}

/** Whether the annotation pauses the operator for this resource. */
export function isPaused(resource: { metadata: { annotations?: Record<string, string> } }): boolean {
  return resource.metadata.annotations?.[ANNOTATIONS.paused] === 'true';
}

/** Whether the resource was just resumed. The time of a pause does not count, so deadlines start again. */
export function wasPaused(resource: ObservedResource): boolean {
  return conditionOf(resource, 'Paused') !== undefined && !isPaused(resource);
}

/**
 * The condition Paused of a paused resource.
 * @param effect what the pause prevents
 */
export function pausedFinding({ metadata: { name, namespace } }: ObservedResource, effect: string): Finding {
  const command = `kubectl annotate -n ${namespace} ${MANAGED_DEPLOYMENT.shortName}/${name} ${ANNOTATIONS.paused}-`;
  return yes(
    'Paused',
    `the annotation ${ANNOTATIONS.paused} is set: ${effect} until it is removed: ${command}`,
  );
}

/** metav1.Time has no fractions of a second. */
function seconds(date: Date): string {
  return date.toISOString().replace(/\.\d+Z$/, 'Z');
}

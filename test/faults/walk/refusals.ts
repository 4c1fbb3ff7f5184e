import type { Reason } from '../../../src/domain/conditions/conditions.ts';
import type { WalkDeployment } from './answers.ts';

/** Told by a condition or an event, it is trouble that no step of a walk has asked for. */
export const REFUSALS: ReadonlySet<string> = new Set<Reason>([
  'Refused',
  'ApplyRefused',
  'Conflict',
  'RecordInvalid',
  'RouteRefused',
  'NamespaceNotAllowed',
  'EnvironmentMissing',
  'CredentialsLost',
  'VolumeNotExpandable',
  'VolumeBeingDeleted',
]);

/** Refusals that an answer tells. */
export function collectRefusals({ conditions }: WalkDeployment, into: Set<string>): void {
  for (const { type, reason, message } of conditions) {
    if (REFUSALS.has(reason)) into.add(`${type}: ${reason}: ${message}`);
  }
}

import type { DeploymentStatus, RevisionStatus } from '../api/types.ts';
import { StateMark } from '../ui/mark.tsx';
import type { Tone } from '../ui/tone.ts';
import { toneOfDeployment, toneOfRevision } from './status.ts';

/** Statuses as marks. One that may be out of date is never shown as the current one. */

interface StatusMarkProps<Status> {
  readonly status: Status;
  /** The status may have changed since it was requested. */
  readonly isStale: boolean;
}

/** A component that shows statuses of one kind. */
const markWith = <Status extends string>(toneOf: (status: Status) => Tone) =>
  function StatusMark({ status, isStale }: StatusMarkProps<Status>) {
    return <StateMark tone={toneOf(status)} text={status} isStale={isStale} />;
  };

export const DeploymentMark = markWith<DeploymentStatus>(toneOfDeployment);
export const RevisionMark = markWith<RevisionStatus>(toneOfRevision);

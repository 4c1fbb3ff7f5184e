import type { DeploymentStatus } from '../api/types.ts';
import { Mark } from '../ui/mark.tsx';
import { toneOfDeployment } from './status.ts';

interface StatusMarkProps {
  readonly status: DeploymentStatus;
  /** The status may have changed since it was requested. */
  readonly isStale?: boolean;
}

/** The status of a deployment. One that may be out of date is never shown as the current one. */
export const StatusMark = ({ status, isStale = false }: StatusMarkProps) => (
  <Mark
    tone={isStale ? 'unsure' : toneOfDeployment(status)}
    text={isStale ? `last known: ${status}` : status}
  />
);

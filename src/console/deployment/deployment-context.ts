import { createContext, useContext } from 'react';
import type { Deployment } from '../api/types.ts';

/** The deployment that the URL names, for its tabs. */

export interface ShownDeployment {
  readonly deployment: Deployment;
  /** The deployment may have changed since it was requested. */
  readonly isStale: boolean;
}

export const DeploymentContext = createContext<ShownDeployment | null>(null);

export function useDeployment(): ShownDeployment {
  const shown = useContext(DeploymentContext);
  if (shown === null) throw new Error('failed to find the deployment: the component is outside of its page');
  return shown;
}

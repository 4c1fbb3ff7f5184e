import { componentName } from '../../../workloads/names.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import type { Decision } from '../decide/decide.ts';
import type { Remembered } from '../memory.ts';
import { childId, type Observed } from '../observed.ts';
import type { ReconcileTime } from '../reconcile-time.ts';
import { componentsOf } from '../rollout/target.ts';
import type { ClusterView } from './cluster-view.ts';
import { isOurs } from './ownership.ts';
import { NO_WARNING_EVENTS, readWarningEvents, suspectsOf, warningEventsDue } from './warning-events.ts';

/** Live reads of objects that the caches do not hold or may hold in an outdated version. */

interface Asking {
  readonly client: Pick<KubeClient, 'list'>;
  readonly remembered: Remembered;
  readonly time: ReconcileTime;
  readonly signal: AbortSignal;
}

/**
 * Adds warning events to the observed state, and reads them when they are due.
 * @throws KubeError when the signal fires
 */
export async function withWarningEvents(
  observed: Observed,
  { client, remembered, time, signal }: Asking,
): Promise<Observed> {
  const suspects = suspectsOf(observed);
  const due = warningEventsDue(suspects, remembered.warnings, time);
  if (due === undefined) remembered.warnings = NO_WARNING_EVENTS;
  else if (due <= time.date) {
    const { namespace } = observed.resource.metadata;
    const asked = { namespace, suspects };
    remembered.warnings = await readWarningEvents(client, asked, remembered.warnings, time, signal);
  }
  const uids = new Set(suspects.map(({ uid }) => uid));
  const warnings = new Map([...remembered.warnings.byUid].filter(([uid]) => uids.has(uid)));
  return { ...observed, warnings };
}

/**
 * Reads the components from the API server. A failure is final, so it is not decided from caches alone, which may be
 * stale after a completed rollout.
 * @throws KubeError when the API server does not respond
 */
export async function withLiveComponents(
  observed: Observed,
  { target }: Decision,
  view: ClusterView,
  signal: AbortSignal,
): Promise<Observed> {
  const { resource } = observed;
  const { namespace } = resource.metadata;
  const children = new Map(observed.children);
  await Promise.all(
    componentsOf(target).map(async (component) => {
      const name = componentName(resource, component);
      const live = await view.refresh('Deployment', { namespace, name }, signal);
      const id = childId('Deployment', name);
      if (live !== undefined && isOurs(live, resource)) children.set(id, live);
      else children.delete(id);
    }),
  );
  return { ...observed, children };
}

import { apiVersionOf, RESOURCES } from '../../kube/client/resources.ts';
import { type Action, STAGES } from '../action.ts';
import type { Observed } from '../observed.ts';
import { newestFirst } from '../rollout/newest-first.ts';
import type { Target } from '../rollout/target.ts';
import { deletion } from './removals.ts';

/** The number of newest stored templates that are kept. Templates in use are also kept. */
export const KEPT_TEMPLATES = 10;

/** Removes stored templates that are neither in use nor among the newest. Called only when no rollout is in progress. */
export function removeOldTemplates(observed: Observed, target: Target): Action[] {
  const { activeRevision, rollout, failedRevision, failedChange } = observed.resource.status ?? {};
  const inUse = new Set([
    target.name,
    activeRevision?.templates,
    rollout?.templates,
    failedRevision?.templates,
    failedChange?.templates,
  ]);
  const { kind } = RESOURCES.ControllerRevision;
  const { namespace } = observed.resource.metadata;
  return newestFirst(observed.storedTemplates)
    .slice(KEPT_TEMPLATES)
    .filter(({ name }) => !inUse.has(name))
    .map(({ name, uid, resourceVersion }) =>
      deletion(
        {
          apiVersion: apiVersionOf(RESOURCES.ControllerRevision),
          kind,
          metadata: { name, namespace, uid, resourceVersion },
        },
        'is older than the last ten',
        STAGES.removal,
      ),
    );
}

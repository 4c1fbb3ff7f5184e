import { keyOf } from '../../kube/client/object.ts';
import type { ListenerParts } from '../listener-parts.ts';
import {
  hasOwnLabels,
  identityConflict,
  lacksBuildSecret,
  lacksEnvironment,
  type Resource,
} from '../resource-view.ts';
import { goneItem, observedReport } from './observe.ts';
import type { Outbox } from './outbox.ts';

/**
 * Reports events of custom resources to the hub: every new status, and changes of spec by other writers.
 * @param isPurging whether this listener removes the deployment itself, so the hub knows of the deletion
 * @returns a function that ends the reports
 */
export function followResources(
  { view, secrets, pullSecrets }: Pick<ListenerParts, 'view' | 'secrets' | 'pullSecrets'>,
  outbox: Outbox,
  isPurging: (deploymentId: string) => boolean = () => false,
): () => void {
  const observe = (resource: Resource) => {
    const leaves = resource.metadata.deletionTimestamp !== undefined;
    if (leaves && isPurging(resource.spec?.deploymentId ?? '')) return;
    const report = observedReport(resource);
    if (report !== null) outbox.addObserved(report);
  };
  const compare = (resource: Resource) => {
    const gone = goneItem(resource);
    if (gone !== null) outbox.touch(keyOf(resource), gone);
  };
  return view.addHandlers({
    added: (resource) => {
      observe(resource);
      // The resource may belong to a deployment that no longer exists.
      if (!view.isOwnWrite(resource)) compare(resource);
    },
    updated: (resource, old) => {
      observe(resource);
      const isNew = resource.metadata.generation !== old.metadata.generation;
      // A change of labels does not change the generation. The loss of a label is reported once, not with every later
      // event.
      const lostLabels = hasOwnLabels(old) && !hasOwnLabels(resource);
      const lacksSecret = lacksEnvironment(resource);
      if (lacksSecret) {
        secrets.forget(resource);
        pullSecrets.forget(resource);
      }
      const lostSecret =
        (lacksSecret && !lacksEnvironment(old)) || (lacksBuildSecret(resource) && !lacksBuildSecret(old));
      const isHeldUp = identityConflict(resource) !== null && identityConflict(old) === null;
      // The hub compares with its own hash of the spec, because any account that writes the resource can write the
      // annotation.
      const isForeign = isNew && !view.isOwnWrite(resource);
      if (isForeign || lostLabels || lostSecret || isHeldUp) compare(resource);
    },
    deleted: (resource) => {
      const gone = goneItem(resource);
      if (gone === null) return;
      outbox.forget(gone);
      outbox.touch(keyOf(resource), gone);
    },
  });
}

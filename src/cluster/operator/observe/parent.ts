import { setImmediate as nextTurn } from 'node:timers/promises';
import type { KubeClient } from '../../kube/client/client.ts';
import type { KubeObject, UntypedObject } from '../../kube/client/object.ts';
import { RESOURCES } from '../../kube/client/resources.ts';
import type { ObservedResource } from '../observed.ts';
import { isPaused } from '../status/conditions.ts';

interface Question {
  readonly client: Pick<KubeClient, 'find'>;
  readonly resource: Pick<KubeObject, 'metadata'>;
  readonly signal: AbortSignal;
}

/** A read in progress. */
export interface ParentRead {
  readonly answer: Promise<UntypedObject | undefined>;
}

/** Reads the custom resource from the API server. */
export function readParent({ client, resource, signal }: Question): Promise<UntypedObject | undefined> {
  return client.find<UntypedObject>(RESOURCES.ManagedDeployment, resource.metadata, { signal });
}

/**
 * Starts to read the custom resource while the operator still decides. The read is started only for a resource without
 * a status, because such a resource usually has actions to run. The read starts after the state was gathered, because
 * it confirms that state.
 */
export async function readParentAhead(
  question: Question & { readonly resource: ObservedResource },
): Promise<ParentRead | undefined> {
  const { resource } = question;
  if (resource.status !== undefined || isPaused(resource)) return undefined;
  const answer = readParent(question);
  // The consumer of the promise handles the failure.
  answer.catch(() => undefined);
  // Lets the process send the request before the synchronous work starts.
  await nextTurn();
  return { answer };
}

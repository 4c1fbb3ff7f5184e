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

/** An answer that is on its way. */
export interface ParentRead {
  readonly answer: Promise<UntypedObject | undefined>;
}

/** The custom resource as the server itself has it. */
export function readParent({ client, resource, signal }: Question): Promise<UntypedObject | undefined> {
  return client.find<UntypedObject>(RESOURCES.ManagedDeployment, resource.metadata, { signal });
}

/**
 * The same, asked for while it is decided what to do, where something mostly is: of a resource that has no status yet. Only
 * after what is decided on was gathered: it is what the answer confirms.
 */
export async function readParentAhead(
  question: Question & { readonly resource: ObservedResource },
): Promise<ParentRead | undefined> {
  const { resource } = question;
  if (resource.status !== undefined || isPaused(resource)) return undefined;
  const answer = readParent(question);
  // Whoever needs it is told of a failure.
  answer.catch(() => undefined);
  // What was sent leaves the process when this turn ends.
  await nextTurn();
  return { answer };
}

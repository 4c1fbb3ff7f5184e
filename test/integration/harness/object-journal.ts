/** Objects that are created, changed and deleted in namespaces, recorded by watches. */

import { Reflector } from '../../../src/cluster/kube/cache/reflector.ts';
import type { KubeClient } from '../../../src/cluster/kube/client/client.ts';
import type { UntypedObject } from '../../../src/cluster/kube/client/object.ts';
import { RESOURCES } from '../../../src/cluster/kube/client/resources.ts';

const KINDS = [
  RESOURCES.Deployment,
  RESOURCES.StatefulSet,
  RESOURCES.ControllerRevision,
  RESOURCES.ReplicaSet,
  RESOURCES.Pod,
  RESOURCES.Job,
  RESOURCES.Service,
  RESOURCES.Ingress,
  RESOURCES.Secret,
  RESOURCES.ServiceAccount,
  RESOURCES.PersistentVolumeClaim,
  RESOURCES.HorizontalPodAutoscaler,
  RESOURCES.PodDisruptionBudget,
  RESOURCES.NetworkPolicy,
];
const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

/** The desired state of an object: without status and managed fields. */
function wanted({ metadata, status: _, ...rest }: UntypedObject & { status?: unknown }): string {
  const { name, uid, labels, annotations, ownerReferences, finalizers, deletionTimestamp } = metadata;
  return JSON.stringify({
    ...rest,
    metadata: { name, uid, labels, annotations, ownerReferences, finalizers, deletionTimestamp },
  });
}

export class ObjectJournal {
  readonly #reflectors: Reflector<UntypedObject>[];
  /** As `Deployment shop-api: changed`, in order. */
  readonly lines: string[] = [];

  constructor(client: KubeClient, namespaces: readonly string[]) {
    this.#reflectors = namespaces.flatMap((namespace) =>
      KINDS.map(
        (kind) => new Reflector<UntypedObject>({ client, resource: kind, namespace, logger: silent }),
      ),
    );
  }

  /** Resolves when all that was there before is known. */
  async start(): Promise<void> {
    for (const reflector of this.#reflectors) reflector.start();
    const signal = AbortSignal.timeout(60_000);
    await Promise.all(this.#reflectors.map((reflector) => reflector.waitForSync(signal)));
    for (const reflector of this.#reflectors) {
      const known = new Set(reflector.store.list().map(({ metadata }) => metadata.uid));
      const note = (object: UntypedObject, what: string) =>
        void this.lines.push(`${reflector.resource.kind} ${object.metadata.name}: ${what}`);
      reflector.addHandlers({
        // A new handler receives all existing objects first.
        added: (object) => void (known.has(object.metadata.uid) || note(object, 'made')),
        updated: (object, former) => void (wanted(object) === wanted(former) || note(object, 'changed')),
        deleted: (object) => note(object, 'gone'),
      });
    }
  }

  async stop(): Promise<void> {
    await Promise.all(this.#reflectors.map((reflector) => reflector.stop()));
  }
}

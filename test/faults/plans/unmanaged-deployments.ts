/** Failing Deployments that Berth does not manage. Their cost is the baseline for failing deployments of Berth. */
import type { KubeObject, UntypedObject } from '../../../src/cluster/kube/client/object.ts';
import { RESOURCES } from '../../../src/cluster/kube/client/resources.ts';
import { waitFor } from '../../cluster/wait.ts';
import type { FaultWorld } from '../world.ts';
import { type FailingPods, failedPods, failingImage } from './failing-deployments.ts';
import { inParallel } from './load-steps.ts';
import { imageOf } from './steps.ts';

const PREFIX = 'others-';
const CREATED_WITHIN_MS = 600_000;

interface Running extends KubeObject {
  readonly spec: {
    readonly template: { readonly spec: { readonly containers: readonly { readonly name: string }[] } };
  };
}

/** A copy of a Deployment of Berth, with another name, foreign labels and a failing image. */
function copyOf({ spec }: Running, namespace: string, name: string): UntypedObject {
  const labels = { 'faults.example/load': name };
  const [first, ...sidecars] = spec.template.spec.containers;
  const containers = [{ ...first, image: imageOf(failingImage(0)) }, ...sidecars];
  const template = { metadata: { labels }, spec: { ...spec.template.spec, containers } };
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace, labels },
    spec: { ...spec, selector: { matchLabels: labels }, template },
  } as unknown as UntypedObject;
}

/**
 * Creates `count` Deployments, waits until all have failed, and removes them after `during`.
 * @param model name of the Deployment whose spec they copy
 */
export async function withUnmanagedDeployments<T>(
  world: FaultWorld,
  model: string,
  count: number,
  during: (load: FailingPods) => Promise<T>,
): Promise<T> {
  const { admin, namespace } = world;
  const running = await admin.get<Running>(RESOURCES.Deployment, { namespace, name: model });
  const container = running.spec.template.spec.containers[0]?.name;
  const names = Array.from({ length: count }, (_, index) => `${PREFIX}${index}`);
  await inParallel(names, (name) => admin.create(copyOf(running, namespace, name)));
  const soon = { timeoutMs: CREATED_WITHIN_MS, intervalMs: 500 };
  const load: FailingPods = {
    prefix: PREFIX,
    failAgain: async (number) => {
      const containers = [{ name: container, image: imageOf(failingImage(number)) }];
      const path = `/apis/apps/v1/namespaces/${namespace}/deployments/${names[number % count]}`;
      // A merge patch would remove the other fields of the container.
      await admin.request('PATCH', path, {
        contentType: 'application/strategic-merge-patch+json',
        body: { spec: { template: { spec: { containers } } } },
      });
    },
  };
  await waitFor(
    'the unmanaged Deployments to fail',
    async () => (await failedPods(world, load)).length >= count,
    soon,
  );
  const result = await during(load);
  await inParallel(names, (name) => admin.delete(RESOURCES.Deployment, { namespace, name }));
  await waitFor(
    'the pods of the unmanaged Deployments to be deleted',
    async () => {
      const { items } = await admin.list(RESOURCES.Pod, { namespace });
      return !items.some(({ metadata }) => metadata.name.startsWith(PREFIX));
    },
    soon,
  );
  return result;
}

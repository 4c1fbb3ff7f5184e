import type { ObjectMetrics } from '../../../domain/core/object-map.ts';
import { isKubeError } from '../../kube/client/errors.ts';
import type { KubeObject } from '../../kube/client/object.ts';
import { RESOURCES } from '../../kube/client/resources.ts';
import { listForReaders, type Selected } from '../logs/list-for-readers.ts';
import type { ReaderClient } from '../logs/reader-limits.ts';
import type { Usage } from './cluster-object.ts';
import { amountsOf } from './pod-view.ts';

/** Reads the usage of pods from the metrics API, which a cluster may not have. */

interface PodMetrics extends KubeObject {
  readonly containers?: readonly {
    readonly name: string;
    readonly usage?: Readonly<Record<string, string>>;
  }[];
}

const NONE = 'The cluster has no metrics API (metrics.k8s.io).';
const DENIED = 'The listener lacks the right to list pods.metrics.k8s.io.';
const TOO_LARGE = 'The metrics of the pods are too large to be read.';
const AWAY = 'The metrics API of the cluster does not respond.';

function reasonOf(error: unknown): string {
  if (isKubeError(error, 'unknown_resource', 'not_found')) return NONE;
  if (isKubeError(error, 'forbidden')) return DENIED;
  return isKubeError(error, 'response_too_large') ? TOO_LARGE : AWAY;
}

/** Never rejects. */
export async function readUsage(
  client: Pick<ReaderClient, 'list'>,
  selected: Selected,
): Promise<{ usage?: Usage; metrics: ObjectMetrics }> {
  try {
    const { items } = await listForReaders<PodMetrics>(client, RESOURCES.PodMetrics, selected);
    const usage = new Map(
      items.map(({ metadata, containers = [] }) => [
        metadata.name,
        new Map(containers.map((container) => [container.name, amountsOf(container.usage)])),
      ]),
    );
    return { usage, metrics: { available: true, reason: null } };
  } catch (error) {
    return { metrics: { available: false, reason: reasonOf(error) } };
  }
}

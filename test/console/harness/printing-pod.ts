/** A pod of a deployment whose output a test writes. */
import { LABELS, MANAGED_BY } from '../../../src/contract/resource/names.ts';
import type { LogNode } from '../../integration/harness/log-node.ts';

interface PrintingPodOptions {
  /** Name of the deployment, which begins the name of the pod. */
  readonly name: string;
  readonly deploymentId: string;
  readonly revisionId: string | null;
  readonly namespace: string;
}

/** Makes a pod of the component queue, which small deployments do not run by themselves, so that only the test prints there. */
export async function makePrintingPod(node: LogNode, options: PrintingPodOptions) {
  const { name, deploymentId, revisionId, namespace } = options;
  const pod = {
    namespace,
    name: `${name}-queue`,
    labels: {
      [LABELS.managedBy]: MANAGED_BY,
      [LABELS.component]: 'queue',
      [LABELS.deploymentId]: deploymentId,
      [LABELS.revisionId]: revisionId ?? '',
    },
    containers: ['app', 'proxy'],
  };
  await node.makePod(pod);
  await node.set(pod, { app: 'runs', proxy: 'runs' });
  const print = (text: string, container = 'app') =>
    node.print(pod.namespace, pod.name, container, `${text}\n`);
  return { pod, print };
}

import type { V1Container, V1Probe } from '@kubernetes/client-node';
import type { RenderConfig } from '../../contract/render/render-config.ts';
import { PORT_NAMES } from '../addresses.ts';
import { kubernetesAtLeast } from '../cluster-support.ts';

const STARTUP_PERIOD_SECONDS = 2;
/** Delay of the shutdown, so that endpoints and routers notice that the pod is terminating. */
const DRAIN_SECONDS = 5;

/**
 * Port, probes and preStop hook of the api container. The startup may take as long as a rollout.
 * @param port the port on which the app serves HTTP
 */
export function servingFields(config: RenderConfig, port: number): Partial<V1Container> {
  const check: V1Probe =
    config.healthPath === null
      ? { tcpSocket: { port: PORT_NAMES.app } }
      : { httpGet: { path: config.healthPath, port: PORT_NAMES.app } };
  const probe = { ...check, timeoutSeconds: 5 };
  return {
    ports: [{ name: PORT_NAMES.app, containerPort: port, protocol: 'TCP' }],
    startupProbe: {
      ...probe,
      periodSeconds: STARTUP_PERIOD_SECONDS,
      failureThreshold: Math.ceil(config.progressDeadlineSeconds / STARTUP_PERIOD_SECONDS),
    },
    readinessProbe: { ...probe, periodSeconds: 5, failureThreshold: 3 },
    livenessProbe: { ...probe, periodSeconds: 10, failureThreshold: 6 },
    // The action sleep is used instead of exec, because an image may have no shell. Older clusters do not support
    // sleep.
    ...(kubernetesAtLeast(config, 1, 30)
      ? { lifecycle: { preStop: { sleep: { seconds: DRAIN_SECONDS } } } }
      : {}),
  };
}

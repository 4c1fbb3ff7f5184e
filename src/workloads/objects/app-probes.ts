import type { V1Container, V1Probe } from '@kubernetes/client-node';
import type { RenderConfig } from '../../contract/render/render-config.ts';
import type { HealthCheckSpec } from '../../contract/resource/component-settings.ts';
import type { ManagedDeployment } from '../../contract/resource/managed-deployment.ts';
import { HEALTH_CHECK_DEFAULTS } from '../../domain/pod-settings/health-check.ts';
import type { Component } from '../../domain/resource-spec/components.ts';
import { PORT_NAMES } from '../addresses.ts';
import { kubernetesAtLeast } from '../cluster-support.ts';

const STARTUP_PERIOD_SECONDS = 2;

/**
 * The period of the startup probe. A check of the tenant is not repeated before its timeout, because the kubelet waits for
 * the answer: the container would otherwise get more time for its start than its check says.
 */
const startupPeriod = (timeoutSeconds: number, isOwn: boolean): number =>
  isOwn ? Math.max(STARTUP_PERIOD_SECONDS, timeoutSeconds) : STARTUP_PERIOD_SECONDS;
/** Delay of the shutdown, so that endpoints and routers notice that the pod is terminating. */
const DRAIN_SECONDS = 5;
/** A container is restarted later than its pod stops getting requests: half as often checked, twice as many failures. */
const LIVENESS_FACTOR = 2;

type Action = Pick<V1Probe, 'httpGet' | 'tcpSocket' | 'exec'>;

/** The check of the platform, which is a check of the api component only. */
function platformCheck(component: Component, { healthPath }: RenderConfig): HealthCheckSpec {
  if (component !== 'api') return { type: 'none' };
  return healthPath === null ? { type: 'tcp' } : { type: 'http', path: healthPath };
}

/** null: no check. Only the api container names its port. */
function actionOf(
  { type, path = '/', port, command = [] }: HealthCheckSpec,
  component: Component,
  appPort: number,
): Action | null {
  const target = port ?? (component === 'api' ? PORT_NAMES.app : appPort);
  switch (type) {
    case 'http':
      return { httpGet: { path, port: target } };
    case 'tcp':
      return { tcpSocket: { port: target } };
    case 'exec':
      return { exec: { command } };
    case 'none':
      return null;
  }
}

/**
 * The probes of the app container of a component: its own health check, otherwise that of the platform. The startup may
 * take as long as a rollout, unless the check says otherwise.
 */
function probes(
  check: HealthCheckSpec & { readonly isOwn: boolean },
  action: Action | null,
  config: RenderConfig,
): Partial<V1Container> {
  if (action === null) return {};
  const { timeoutSeconds, periodSeconds, failureThreshold } = { ...HEALTH_CHECK_DEFAULTS, ...check };
  const startupSeconds = check.startupSeconds ?? config.progressDeadlineSeconds;
  const startupPeriodSeconds = startupPeriod(timeoutSeconds, check.isOwn);
  const probe = { ...action, timeoutSeconds };
  return {
    startupProbe: {
      ...probe,
      periodSeconds: startupPeriodSeconds,
      failureThreshold: Math.ceil(startupSeconds / startupPeriodSeconds),
    },
    readinessProbe: { ...probe, periodSeconds, failureThreshold },
    livenessProbe: {
      ...probe,
      periodSeconds: LIVENESS_FACTOR * periodSeconds,
      failureThreshold: LIVENESS_FACTOR * failureThreshold,
    },
  };
}

const portsOf = (appPort: number): Partial<V1Container> => ({
  ports: [{ name: PORT_NAMES.app, containerPort: appPort, protocol: 'TCP' }],
});

/**
 * The preStop hook of the api container. The action sleep is used instead of exec, because an image may have no shell.
 * Older clusters do not support sleep.
 */
function drain(config: RenderConfig): Partial<V1Container> {
  if (!kubernetesAtLeast(config, 1, 30)) return {};
  return { lifecycle: { preStop: { sleep: { seconds: DRAIN_SECONDS } } } };
}

/**
 * Port, probes and preStop hook of the app container of a component.
 * @param appPort the port of the app, which checks without a port use
 */
export function appProbes(
  { spec }: ManagedDeployment,
  component: Component,
  config: RenderConfig,
  appPort: number,
): Partial<V1Container> {
  const own = spec.components[component]?.healthCheck;
  const check = own ?? platformCheck(component, config);
  const isServing = component === 'api';
  return {
    ...(isServing ? portsOf(appPort) : {}),
    ...probes({ ...check, isOwn: own !== undefined }, actionOf(check, component, appPort), config),
    ...(isServing ? drain(config) : {}),
  };
}

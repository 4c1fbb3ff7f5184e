/** A node whose pods are driven by hand and whose containers' logs are written by a test; the API server reads them there. */
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createKubeClient } from '../../../src/cluster/kube/client/client.ts';
import { ContainerLog } from '../../cluster/build-node/container-log.ts';
import { serveLogs } from '../../cluster/build-node/log-server.ts';
import { NodeRegistration } from '../../cluster/build-node/node-registration.ts';
import { environment, kubectlAsAdmin, uniqueName } from './environment.ts';
import { recordingLogger } from './store.ts';

/** How a container is. */
export type ContainerState = 'waits' | 'runs' | 'ended' | 'runs again';

export interface PodToMake {
  readonly namespace: string;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly initContainers?: readonly string[];
  readonly containers: readonly string[];
}

export interface LogNode {
  readonly name: string;
  makePod(pod: PodToMake): Promise<void>;
  /** Sets the states of its containers, as a kubelet would; `phase` follows. */
  set(
    pod: Pick<PodToMake, 'namespace' | 'name' | 'initContainers'>,
    states: Record<string, ContainerState>,
  ): Promise<void>;
  /** What a container prints; without a line end it is part of a line. */
  print(namespace: string, pod: string, container: string, text: string): void;
  /** It prints no more: who follows comes to the end. */
  end(namespace: string, pod: string, container: string): void;
  /** It has ended, and what it prints from now on is of its next run. */
  crash(namespace: string, pod: string, container: string): void;
  stop(): Promise<void>;
}

const stateOf = (is: ContainerState) =>
  is === 'waits'
    ? { waiting: { reason: 'PodInitializing' } }
    : is === 'runs'
      ? { running: { startedAt: '2026-01-01T00:00:00Z' } }
      : {
          terminated: { exitCode: 0, startedAt: '2026-01-01T00:00:00Z', finishedAt: '2026-01-01T00:00:01Z' },
        };

function phaseOf(states: readonly ContainerState[]): string {
  if (states.every((is) => is === 'ended')) return 'Succeeded';
  return states.some((is) => is !== 'waits') ? 'Running' : 'Pending';
}

export async function startLogNode(): Promise<LogNode> {
  const folder = mkdtempSync(join(realpathSync(tmpdir()), 'berth-log-node-'));
  const logs = new Map<string, ContainerLog>();
  const former = new Map<string, ContainerLog>();
  const keyOf = (...parts: string[]) => parts.join('/');
  const logOf = (key: string) => {
    const log = logs.get(key) ?? new ContainerLog(join(folder, `${logs.size + former.size}.log`));
    logs.set(key, log);
    return log;
  };
  const server = await serveLogs((namespace, pod, container, previous) => {
    const log = (previous ? former : logs).get(keyOf(namespace, pod, container));
    if (log === undefined) throw new Error(`container "${container}" in pod "${pod}" is waiting to start`);
    return log;
  });
  const client = await createKubeClient({
    kubeconfigPath: environment().kubeconfigPath,
    userAgent: 'berth-test-node',
    requestTimeoutMs: 20_000,
  });
  const name = uniqueName('logs');
  const registration = new NodeRegistration({
    client,
    name,
    capacity: 100,
    port: server.port,
    logger: recordingLogger(),
  });
  await registration.start();
  return {
    name,
    async makePod({ namespace, name: pod, labels, annotations = {}, initContainers = [], containers }) {
      const made = (container: string) => ({ name: container, image: 'test' });
      const object = {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { namespace, name: pod, labels, annotations },
        spec: {
          nodeName: name,
          automountServiceAccountToken: false,
          terminationGracePeriodSeconds: 0,
          initContainers: initContainers.map(made),
          containers: containers.map(made),
        },
      };
      await kubectlAsAdmin(['create', '-f', '-'], JSON.stringify(object));
    },
    async set({ namespace, name: pod, initContainers = [] }, states) {
      const all = Object.entries(states).map(([container, is]) => ({
        name: container,
        image: 'test',
        imageID: 'test',
        ready: is.startsWith('runs'),
        restartCount: is === 'runs again' ? 1 : 0,
        state: stateOf(is === 'runs again' ? 'runs' : is),
        ...(is === 'runs again' ? { lastState: stateOf('ended') } : {}),
      }));
      const isInit = ({ name: container }: { name: string }) => initContainers.includes(container);
      const status = {
        phase: phaseOf(Object.values(states)),
        initContainerStatuses: all.filter(isInit),
        containerStatuses: all.filter((container) => !isInit(container)),
      };
      const patch = ['patch', 'pod', pod, '-n', namespace, '--subresource=status', '--type=merge', '-p'];
      await kubectlAsAdmin([...patch, JSON.stringify({ status })]);
    },
    print: (...[namespace, pod, container, text]) => logOf(keyOf(namespace, pod, container)).write(text),
    end: (...parts) => logOf(keyOf(...parts)).end(),
    crash(...parts) {
      const key = keyOf(...parts);
      const log = logOf(key);
      log.end();
      former.set(key, log);
      logs.delete(key);
    },
    async stop() {
      await registration.stop();
      await kubectlAsAdmin(['delete', 'node', name, '--ignore-not-found', '--wait=false']);
      await client.close();
      await server.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

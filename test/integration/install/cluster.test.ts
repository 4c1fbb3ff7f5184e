import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { kubectl } from '../../cluster/kubectl.ts';
import { waitFor } from '../../cluster/wait.ts';
import { auditedSince, auditedUntilNow } from '../harness/audit.ts';
import {
  cluster,
  createNamespace,
  deleteNamespace,
  environment,
  kubectlAsAdmin,
} from '../harness/environment.ts';

interface ContainerStatus {
  name: string;
  ready: boolean;
  restartCount: number;
  state: {
    waiting?: { reason: string };
    running?: object;
    terminated?: { exitCode: number; reason: string };
  };
  lastState?: { terminated?: { exitCode: number } };
}

interface Pod {
  status: {
    phase: string;
    conditions: { type: string; status: string }[];
    containerStatuses: ContainerStatus[];
    initContainerStatuses?: ContainerStatus[];
  };
}

let namespace: string;
let auditedFrom: number;
beforeAll(async () => {
  // A cluster that is not ours shows no log: then the tests that read it say so.
  auditedFrom = environment().stateDir === '' ? 0 : auditedUntilNow();
  namespace = await createNamespace('sim');
});
afterAll(() => deleteNamespace(namespace));

const run = (...args: string[]) => kubectlAsAdmin([`--namespace=${namespace}`, ...args]);

async function create(...objects: object[]): Promise<void> {
  await kubectlAsAdmin(
    [`--namespace=${namespace}`, 'create', '-f', '-'],
    JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects }),
  );
}

async function get<T>(resource: string): Promise<T> {
  return JSON.parse(await run('get', resource, '--output=json')) as T;
}

function podWith(name: string, spec: object, labels: Record<string, string> = {}): object {
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name, labels }, spec };
}

function job(name: string, labels: Record<string, string> = {}): object {
  const spec = {
    restartPolicy: 'Never',
    initContainers: [{ name: 'proxy', image: 'registry.test/proxy:1', restartPolicy: 'Always' }],
    containers: [{ name: 'main', image: 'registry.test/app:1' }],
  };
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name },
    spec: { backoffLimit: 0, template: { metadata: { labels }, spec } },
  };
}

function claim(name: string, spec: object = {}): object {
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } }, ...spec },
  };
}

/** Waits until `field` of a resource, as a JSONPath, has a value. */
function waitForField(resource: string, field: string, value: string): Promise<string> {
  return run('wait', resource, `--for=jsonpath={${field}}=${value}`, '--timeout=60s');
}

function byName(statuses: ContainerStatus[] | undefined, name: string): ContainerStatus | undefined {
  return statuses?.find((status) => status.name === name);
}

const conditionOf = ({ status }: Pod, type: string) =>
  status.conditions.find((condition) => condition.type === type)?.status;

test('the cluster has four nodes in two zones', async () => {
  // Other files bring nodes of their own, in no zone, which take nobody else's pods.
  const inZones = ['get', 'nodes', '--selector=topology.kubernetes.io/zone', '--output=json'];
  const { items } = JSON.parse(await kubectlAsAdmin(inZones)) as {
    items: { metadata: { labels: Record<string, string> } }[];
  };
  const zones = items.map(({ metadata }) => metadata.labels['topology.kubernetes.io/zone']);
  expect(zones.toSorted()).toEqual(['zone-a', 'zone-a', 'zone-b', 'zone-b']);
});

describe('pods without a failure label', () => {
  test('make their Deployment Available', async () => {
    await run('create', 'deployment', 'web', '--image=registry.test/web:1', '--replicas=3');
    await run('wait', 'deployment/web', '--for=condition=Available', '--timeout=60s');
    await waitForField('deployment/web', '.status.readyReplicas', '3');
  });

  test('become Ready when init containers have completed and native sidecars run', async () => {
    const image = 'registry.test/app:1';
    const spec = {
      initContainers: [
        { name: 'migrate', image },
        { name: 'proxy', image, restartPolicy: 'Always' },
      ],
      containers: [
        { name: 'app', image },
        { name: 'logs', image },
      ],
    };
    await create(podWith('composed', spec));
    await run('wait', 'pod/composed', '--for=condition=Ready', '--timeout=60s');
    const { status } = await get<Pod>('pod/composed');
    expect(byName(status.initContainerStatuses, 'migrate')?.state.terminated).toMatchObject({ exitCode: 0 });
    expect(byName(status.initContainerStatuses, 'proxy')).toMatchObject({
      ready: true,
      state: { running: {} },
    });
    expect(status.containerStatuses.map(({ ready }) => ready)).toEqual([true, true]);
  });

  test('complete their Job, and their native sidecar stops with it', async () => {
    await create(job('migration'));
    await run('wait', 'job/migration', '--for=condition=Complete', '--timeout=60s');
  });

  test('stop after the delay in their annotation when they are deleted', async () => {
    const labels = { test: 'stop' };
    await create(
      podWith('stopping', { containers: [{ name: 'app', image: 'registry.test/app:1' }] }, labels),
    );
    await run('annotate', 'pod/stopping', 'sim.example/stop-delay=3s');
    await run('wait', 'pod/stopping', '--for=condition=Ready', '--timeout=60s');
    const asked = Date.now();
    await run('delete', 'pod/stopping', '--wait=false');
    await run('wait', 'pod/stopping', '--for=delete', '--timeout=60s');
    expect(Date.now() - asked).toBeGreaterThanOrEqual(3000);
  });
});

describe('pods with a failure label', () => {
  const spec = {
    initContainers: [{ name: 'first', image: 'registry.test/init:1' }],
    containers: [
      { name: 'app', image: 'registry.test/app:1' },
      { name: 'logs', image: 'registry.test/logs:1' },
    ],
  };
  const failing = (kind: string) => podWith(kind, spec, { 'sim.example/fail': kind });

  test('stay Pending in ImagePullBackOff with image-pull', async () => {
    await create(failing('image-pull'));
    await waitForField(
      'pod/image-pull',
      '.status.containerStatuses[0].state.waiting.reason',
      'ImagePullBackOff',
    );
    const pod = await get<Pod>('pod/image-pull');
    expect(pod.status.phase).toBe('Pending');
    expect(conditionOf(pod, 'Initialized')).toBe('True');
    expect(byName(pod.status.containerStatuses, 'logs')).toMatchObject({ ready: true });
  });

  test('stay in CrashLoopBackOff, with restarts and the last exit code, with crash-loop', async () => {
    await create(failing('crash-loop'));
    // It stays at five; any count before is over in a moment.
    await waitForField('pod/crash-loop', '.status.containerStatuses[0].restartCount', '5');
    const pod = await get<Pod>('pod/crash-loop');
    expect(pod.status.phase).toBe('Running');
    expect(conditionOf(pod, 'Ready')).toBe('False');
    expect(byName(pod.status.containerStatuses, 'app')).toMatchObject({
      ready: false,
      state: { waiting: { reason: 'CrashLoopBackOff' } },
      lastState: { terminated: { exitCode: 1 } },
    });
  });

  test('fail their Job with crash-loop when they are not restarted', async () => {
    await create(job('broken', { 'sim.example/fail': 'crash-loop' }));
    await run('wait', 'job/broken', '--for=condition=Failed', '--timeout=60s');
  });

  test('run without becoming Ready with never-ready', async () => {
    await create(failing('never-ready'));
    await waitForField('pod/never-ready', '.status.phase', 'Running');
    const pod = await get<Pod>('pod/never-ready');
    expect(conditionOf(pod, 'Ready')).toBe('False');
    expect(byName(pod.status.containerStatuses, 'app')).toMatchObject({
      ready: false,
      state: { running: {} },
    });
  });

  test('run first and become Ready later with slow-start', async () => {
    await create(failing('slow-start'));
    await waitForField('pod/slow-start', '.status.phase', 'Running');
    expect(conditionOf(await get<Pod>('pod/slow-start'), 'Ready')).toBe('False');
    await run('wait', 'pod/slow-start', '--for=condition=Ready', '--timeout=60s');
  });
});

describe('a volume claim', () => {
  test('is bound when a pod uses it, can be expanded, and is deleted with its volume', async () => {
    await create(claim('data'));
    const volumes = [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }];
    await create(podWith('user', { volumes, containers: [{ name: 'app', image: 'registry.test/app:1' }] }));
    await run('wait', 'pod/user', '--for=condition=Ready', '--timeout=60s');
    await waitForField('pvc/data', '.status.phase', 'Bound');
    await run('patch', 'pvc/data', '--patch={"spec":{"resources":{"requests":{"storage":"2Gi"}}}}');
    await waitForField('pvc/data', '.status.capacity.storage', '2Gi');
    const { spec } = await get<{ spec: { volumeName: string } }>('pvc/data');
    await waitForField(`pv/${spec.volumeName}`, '.spec.capacity.storage', '2Gi');
    await run('delete', 'pod/user', 'pvc/data');
    await run('wait', `pv/${spec.volumeName}`, '--for=delete', '--timeout=60s');
  });

  test('is bound without a pod in the class "immediate"', async () => {
    await create(claim('early', { storageClassName: 'immediate' }));
    await waitForField('pvc/early', '.status.phase', 'Bound');
  });

  test('cannot be expanded in the class "fixed-size"', async () => {
    const volumes = [{ name: 'data', persistentVolumeClaim: { claimName: 'small' } }];
    await create(
      claim('small', { storageClassName: 'fixed-size' }),
      podWith('fixed', { volumes, containers: [{ name: 'app', image: 'registry.test/app:1' }] }),
    );
    await waitForField('pvc/small', '.status.phase', 'Bound');
    const growing = run(
      'patch',
      'pvc/small',
      '--patch={"spec":{"resources":{"requests":{"storage":"2Gi"}}}}',
    );
    await expect(growing).rejects.toThrow(/forbidden/i);
  });
});

describe('the API server', () => {
  test('records the requests of tests in the audit log, but not those of components', async () => {
    const name = `audited-${namespace}`;
    await run('create', 'configmap', name);
    const requests = auditedSince(auditedFrom).map(
      (line) => JSON.parse(line) as { user: { username: string }; requestURI: string },
    );
    expect(requests.map(({ user }) => user.username)).not.toContain('kwok');
    const created = requests.filter(({ requestURI }) =>
      requestURI.startsWith(`/api/v1/namespaces/${namespace}/configmaps`),
    );
    expect(created).toHaveLength(1);
    expect(created[0]?.user.username).toBe('admin');
  });

  test('grants a kubeconfig for a ServiceAccount only the rights of that account', async () => {
    await run('create', 'serviceaccount', 'reader');
    await run('create', 'role', 'reader', '--verb=list', '--resource=configmaps');
    await run('create', 'rolebinding', 'reader', '--role=reader', `--serviceaccount=${namespace}:reader`);
    const kubeconfigPath = await cluster().kubeconfigFor({ namespace, name: 'reader' });
    const access = { kubectlPath: environment().kubectlPath, kubeconfigPath };
    // The API server knows of new rights a moment later.
    await waitFor('its right', () => kubectl(access, ['get', 'configmaps', `--namespace=${namespace}`]), {
      timeoutMs: 30_000,
    });
    await expect(kubectl(access, ['get', 'secrets', `--namespace=${namespace}`])).rejects.toThrow(
      /forbidden/i,
    );
  });

  test('enforces Pod Security', async () => {
    const privileged = {
      containers: [{ name: 'app', image: 'registry.test/app:1', securityContext: { privileged: true } }],
    };
    const strict = await createNamespace('strict');
    await kubectlAsAdmin(['label', 'namespace', strict, 'pod-security.kubernetes.io/enforce=baseline']);
    const create = (...more: string[]) =>
      kubectlAsAdmin(
        [`--namespace=${strict}`, 'create', '-f', '-', ...more],
        JSON.stringify(podWith('privileged', privileged)),
      );
    // The API server goes by a new label a moment later.
    const isRefused = () =>
      create('--dry-run=server').then(
        () => false,
        () => true,
      );
    await waitFor('the label to count', isRefused, { timeoutMs: 30_000 });
    await expect(create()).rejects.toThrow(/violates PodSecurity/);
    await deleteNamespace(strict);
  });
});

test('a namespace is deleted with all of its objects', async () => {
  const name = await createNamespace('gone');
  await kubectlAsAdmin([`--namespace=${name}`, 'create', 'deployment', 'web', '--image=registry.test/web:1']);
  await kubectlAsAdmin([`--namespace=${name}`, 'create', 'job', 'work', '--image=registry.test/web:1']);
  await kubectlAsAdmin(['delete', 'namespace', name, '--timeout=60s']);
  await waitFor(
    'the namespace to be gone',
    async () => (await kubectlAsAdmin(['get', 'namespace', name, '--ignore-not-found'])) === '',
    { timeoutMs: 10_000 },
  );
});

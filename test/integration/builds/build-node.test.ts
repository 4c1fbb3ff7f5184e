/** The simulated node for builds: the scheduler, the Job controller and kubectl treat it like a kubelet. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { NODE_OF_BUILDS } from '../../cluster/build-node/interface.ts';
import { startWatchdog } from '../../cluster/processes.ts';
import { waitFor } from '../../cluster/wait.ts';
import { type BuildNode, podsFolder, startBuildNode } from '../../installation/build-node.ts';
import { installBerth } from '../../installation/install.ts';
import { environment, kubectlAsAdmin, uniqueName } from '../harness/environment.ts';

const NAMESPACE = 'berth-builds';
const CANARY = 'canary-in-the-secret';
const node = uniqueName('build-node');
let stateDir: string;
let buildNode: BuildNode;
let watchdog: { release(): void };
const start = () => startBuildNode(environment(), { stateDir, node });
beforeAll(async () => {
  stateDir = mkdtempSync(join(realpathSync(tmpdir()), 'berth-test-node-'));
  watchdog = startWatchdog(stateDir, { removeState: true });
  await installBerth(environment());
  buildNode = await start();
});
afterAll(async () => {
  await buildNode?.stop();
  await kubectlAsAdmin(['delete', 'jobs,secrets', '-n', NAMESPACE, '-l', `test=${node}`, '--wait=false']);
  await kubectlAsAdmin(['delete', 'node', node, '--ignore-not-found', '--wait=false']);
  watchdog?.release();
  rmSync(stateDir, { recursive: true, force: true });
});

interface State {
  terminated?: { exitCode: number; reason: string; message?: string };
  running?: object;
  waiting?: { reason: string; message?: string };
}
interface PodObject {
  metadata: { name: string; uid: string };
  status: {
    phase?: string;
    reason?: string;
    initContainerStatuses?: { name: string; state: State }[];
    containerStatuses?: { name: string; state: State }[];
  };
}

const sh = (script: string) => ['/bin/sh', '-c', script];
const kubectl = (...args: string[]) => kubectlAsAdmin([...args, '-n', NAMESPACE]);

/** Makes a Job for this node. */
async function makeJob(name: string, pod: object): Promise<string> {
  const unique = uniqueName(name);
  const { taint } = NODE_OF_BUILDS;
  await kubectlAsAdmin(
    ['create', '-f', '-'],
    JSON.stringify({
      apiVersion: 'batch/v1',
      kind: 'Job',
      metadata: { name: unique, namespace: NAMESPACE, labels: { test: node } },
      spec: {
        backoffLimit: 0,
        template: {
          spec: {
            restartPolicy: 'Never',
            automountServiceAccountToken: false,
            terminationGracePeriodSeconds: 1,
            nodeSelector: { 'kubernetes.io/hostname': node },
            tolerations: [{ key: taint.key, operator: 'Exists', effect: taint.effect }],
            ...pod,
          },
        },
      },
    }),
  );
  return unique;
}

async function podOf(job: string): Promise<PodObject | undefined> {
  const { items } = JSON.parse(await kubectl('get', 'pods', '-o', 'json', '-l', `job-name=${job}`)) as {
    items: PodObject[];
  };
  return items[0];
}
const until = <T>(what: string, probe: () => Promise<T | undefined>) =>
  waitFor(what, probe, { timeoutMs: 60_000, intervalMs: 100 });
const untilPod = (job: string, what: string, check: (pod: PodObject) => boolean) =>
  waitFor(
    `${job}: ${what}`,
    async () => {
      const pod = await podOf(job);
      return pod !== undefined && check(pod) ? pod : undefined;
    },
    { timeoutMs: 60_000, intervalMs: 100 },
  );
const ended = (job: string) =>
  untilPod(job, 'the end of its pod', ({ status }) => ['Succeeded', 'Failed'].includes(status.phase ?? ''));
const runs = (job: string) => untilPod(job, 'its pod runs', ({ status }) => status.phase === 'Running');
const folderOf = ({ metadata }: PodObject) => join(podsFolder(stateDir, node), metadata.uid);

/** Whether a process has this among its arguments. */
const isRunning = (words: string) =>
  readdirSync('/proc').some((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(words);
    } catch {
      return false;
    }
  });

describe('a pod on the build node', () => {
  it('runs its containers in order, with volumes, Secrets and variables, and reports their termination messages', async () => {
    const secret = uniqueName('secret');
    await kubectlAsAdmin(
      ['create', '-f', '-'],
      JSON.stringify({
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name: secret, namespace: NAMESPACE, labels: { test: node } },
        stringData: { token: CANARY, other: 'x' },
      }),
    );
    const volumeMounts = [
      { name: 'work', mountPath: '/workspace' },
      { name: 'secret', mountPath: '/credentials' },
    ];
    const job = await makeJob('order', {
      volumes: [
        { name: 'work', emptyDir: {} },
        { name: 'secret', secret: { secretName: secret, items: [{ key: 'token', path: 'deep/token' }] } },
      ],
      initContainers: [
        {
          name: 'first',
          image: 'any',
          command: ['/bin/sh', '-c', 'cat "$1/deep/token" > "$2"; ls "$1"; echo $(NAME) $$HOME', 'sh'],
          args: ['/credentials', '/workspace/file'],
          env: [{ name: 'NAME', value: 'a name' }],
          volumeMounts,
        },
      ],
      containers: [
        {
          name: 'last',
          image: 'any',
          command: sh('wc -c < "$FILE" > "$BERTH_TERMINATION_LOG"; echo to the log; echo to stderr >&2'),
          env: [{ name: 'FILE', value: '/workspace/file' }],
          volumeMounts,
        },
      ],
    });
    const pod = await ended(job);
    expect(pod.status.phase).toBe('Succeeded');
    expect(pod.status.containerStatuses?.[0]?.state.terminated).toMatchObject({
      exitCode: 0,
      reason: 'Completed',
      message: `${CANARY.length}\n`,
    });
    const { name } = pod.metadata;
    const first = await kubectl('logs', name, '-c', 'first');
    expect(first.split('\n')[0]).toBe('deep');
    expect(first).toMatch(/^a name \/.*home$/m);
    expect(await kubectl('logs', name, '-c', 'last', '--tail=1')).toMatch(/^to (the log|stderr)\n$/);
    await until('the Job to be complete', async () =>
      (await kubectl('get', 'job', job, '-o', 'jsonpath={.status.succeeded}')) === '1' ? true : undefined,
    );
    expect(existsSync(folderOf(pod))).toBe(true);
    await kubectl('delete', 'job', job);
    await until('its folder to be gone', async () => (existsSync(folderOf(pod)) ? undefined : true));
  });

  it('fails with the failed step, skips the later ones, and reports the last lines', async () => {
    const job = await makeJob('fails', {
      initContainers: [
        {
          name: 'image',
          image: 'any',
          command: sh('echo one; echo two >&2; exit 3'),
          terminationMessagePolicy: 'FallbackToLogsOnError',
        },
      ],
      containers: [{ name: 'result', image: 'any', command: sh('echo never') }],
    });
    const pod = await ended(job);
    expect(pod.status.phase).toBe('Failed');
    const { terminated } = pod.status.initContainerStatuses?.[0]?.state ?? {};
    expect(terminated).toMatchObject({ exitCode: 3, reason: 'Error' });
    expect(terminated?.message?.split('\n').toSorted()).toEqual(['one', 'two']);
    expect(pod.status.containerStatuses?.[0]?.state).toHaveProperty('waiting');
  });

  it('reports a command that cannot be started', async () => {
    const job = await makeJob('start', {
      containers: [{ name: 'a', image: 'any', command: ['no-such-command'] }],
    });
    const { status } = await ended(job);
    expect(status.containerStatuses?.[0]?.state.terminated).toMatchObject({
      exitCode: 128,
      reason: 'StartError',
    });
  });

  it('fails at once with the reason when it requires an unsupported feature', async () => {
    const job = await makeJob('other', {
      volumes: [{ name: 'x', hostPath: { path: '/' } }],
      containers: [{ name: 'a', image: 'any', command: sh('true') }],
    });
    expect((await ended(job)).status.reason).toBe('UnexpectedAdmissionError');
  });

  it('waits until its Secret exists', async () => {
    const secret = uniqueName('late');
    const job = await makeJob('late', {
      volumes: [{ name: 's', secret: { secretName: secret } }],
      containers: [
        {
          name: 'a',
          image: 'any',
          command: ['cat', '/s/key'],
          volumeMounts: [{ name: 's', mountPath: '/s' }],
        },
      ],
    });
    await untilPod(job, 'it waits', ({ status }) =>
      Boolean(
        status.containerStatuses?.[0]?.state.waiting?.message?.includes(`secret "${secret}" not found`),
      ),
    );
    await kubectl('create', 'secret', 'generic', secret, '--from-literal=key=it is here');
    await kubectl('label', 'secret', secret, `test=${node}`);
    const pod = await ended(job);
    expect(await kubectl('logs', pod.metadata.name)).toBe('it is here\n');
  });

  it('is stopped with all its processes when the deadline of its Job passes', async () => {
    const marker = uniqueName('sleeper');
    const job = await makeJob('deadline', {
      containers: [
        { name: 'a', image: 'any', command: sh(`sh -c 'sleep 1000; : ${marker}' & echo up; wait`) },
      ],
    });
    const pod = await runs(job);
    const { kubectlPath, kubeconfigPath } = environment();
    const words = ['--kubeconfig', kubeconfigPath, 'logs', '-f', pod.metadata.name, '-n', NAMESPACE];
    const follow = spawn(kubectlPath, words, { stdio: ['ignore', 'pipe', 'inherit'] });
    onTestFinished(() => void follow.kill());
    const followed = once(follow, 'close');
    let printed = '';
    follow.stdout.on('data', (data) => {
      printed += data;
    });
    await until('its log to be followed', async () => printed.includes('up\n') || undefined);
    await until('its processes', async () => isRunning(marker) || undefined);
    // Make the deadline pass, whatever the machine's speed.
    await kubectl('patch', 'job', job, '--type=merge', '-p', '{"spec":{"activeDeadlineSeconds":1}}');
    await until('the deadline', async () =>
      (await kubectl('get', 'job', job, '-o', 'jsonpath={.status.conditions}')).includes('DeadlineExceeded')
        ? true
        : undefined,
    );
    await until('its processes to be gone', async () => (isRunning(marker) ? undefined : true));
    expect(await followed).toEqual([0, null]);
  });

  it('fails when the process of the node is killed: its own processes end when the node starts again', async () => {
    const marker = uniqueName('orphan');
    const job = await makeJob('lost', {
      containers: [{ name: 'a', image: 'any', command: sh(`sleep 1000; : ${marker}`) }],
    });
    await runs(job);
    await until('its processes', async () => isRunning(marker) || undefined);
    await buildNode.stop('SIGKILL');
    buildNode = await start();
    const { status } = await ended(job);
    expect(status).toMatchObject({ phase: 'Failed', reason: 'NodeLost' });
    expect(status.containerStatuses?.[0]?.state.terminated?.reason).toBe('ContainerStatusUnknown');
    expect(isRunning(marker)).toBe(false);
  });
});

describe('the build node', () => {
  it('registers a Node that only build pods tolerate, and renews its lease', async () => {
    const found = JSON.parse(await kubectlAsAdmin(['get', 'node', node, '-o', 'json'])) as {
      spec: { taints: object[] };
      metadata: { labels: Record<string, string> };
      status: { capacity: { pods: string }; conditions: { type: string; status: string }[] };
    };
    expect(found.spec.taints).toContainEqual(NODE_OF_BUILDS.taint);
    expect(found.metadata.labels[NODE_OF_BUILDS.label]).toBe('true');
    expect(found.status.capacity.pods).toBe('2');
    expect(found.status.conditions.find(({ type }) => type === 'Ready')?.status).toBe('True');
    const lease = await kubectlAsAdmin(['get', 'lease', node, '-n', 'kube-node-lease', '-o', 'json']);
    expect(JSON.parse(lease)).toMatchObject({ spec: { holderIdentity: node } });
  });
});

/** The main job with containers that run: HTTP → custom resource → pods of a kubelet → status; logs are those of programs. */
import { beforeAll, describe, expect, it } from 'vitest';
import { waitFor } from '../cluster/wait.ts';
import type { DeploymentAnswer } from '../integration/harness/berth.ts';
import {
  call,
  create,
  http,
  image,
  kubectl,
  NAMESPACE,
  type Pod,
  pods,
  selector,
  service,
  untilReady,
  whySkipped,
} from './harness/environment.ts';

/** Each says when it begins and ends, in milliseconds: kubelet's own times are whole seconds. */
const says = (what: string) => `echo "${what} $(date +%s)"`;

/** The first process of a container hears no signal that it does not wait for. */
const LASTS = 'trap "exit 0" TERM; sleep 3600 & wait';

const STARTS_IN_ORDER = {
  volumes: [{ name: 'shared', emptyDir: {} }],
  volume_mounts: [{ name: 'shared', mountPath: '/shared' }],
  init_containers: [
    {
      name: 'first',
      image: 'base/static',
      command: ['sh', '-c', `${says('begins')}; sleep 1; echo first >> /shared/order; ${says('ends')}`],
      volumeMounts: [{ name: 'shared', mountPath: '/shared' }],
    },
    {
      // A native sidecar: it is started before what follows, and goes on.
      name: 'proxy',
      image: 'base/static',
      restartPolicy: 'Always',
      command: ['sh', '-c', `${says('begins')}; echo proxy >> /shared/order; ${LASTS}`],
      volumeMounts: [{ name: 'shared', mountPath: '/shared' }],
    },
    {
      name: 'second',
      image: 'base/static',
      // It finds what went before, and the variable that it asks for.
      command: ['sh', '-c', `cat /shared/order; echo "\${DATABASE_URI%%:*}"; ${says('ends')}`],
      env: [{ name: 'DATABASE_URI' }],
      volumeMounts: [{ name: 'shared', mountPath: '/shared' }],
    },
  ],
  sidecars: [{ name: 'reader', image: 'base/static', command: ['sh', '-c', `${says('begins')}; ${LASTS}`] }],
};

/** With the images of the registry, which is known only when the node is there. */
function withImages<T extends { init_containers: { image: string }[]; sidecars: { image: string }[] }>(
  spec: T,
): T {
  const named = <C extends { image: string }>(containers: C[]) =>
    containers.map((container) => ({ ...container, image: image(container.image) }));
  return { ...spec, init_containers: named(spec.init_containers), sidecars: named(spec.sidecars) };
}

describe.skipIf(whySkipped() !== undefined)('an external image', () => {
  let created: DeploymentAnswer;
  let pod: Pod;
  let seconds: number;
  beforeAll(async () => {
    const began = Date.now();
    created = await create('shop', 'shop:1', {
      resource_spec: withImages(STARTS_IN_ORDER),
      secrets: [{ name: 'GREETING', value: 'hello from a secret' }],
    });
    await untilReady(created.id);
    seconds = (Date.now() - began) / 1000;
    [pod] = (await pods(created.id, 'api')) as [Pod];
  });

  const logs = (container: string) => kubectl('-n', NAMESPACE, 'logs', pod.metadata.name, '-c', container);
  const second = (text: string, what: string) => Number(new RegExp(`${what} (\\d+)`).exec(text)?.[1]);

  it('becomes READY with a DEPLOYED revision, and responds through the Service', async () => {
    console.log(`from POST to READY: ${seconds.toFixed(1)} s`);
    const revision = await call<{ status: string }>(
      'GET',
      `/v2/deployments/${created.id}/revisions/${created.latest_revision_id}`,
    );
    expect(revision.status).toBe('DEPLOYED');
    const answer = JSON.parse((await http(await service(created.id), 'GET', '/')).body);
    expect(answer).toEqual({
      version: '1',
      revision: created.latest_revision_id,
      greeting: 'hello from a secret',
      host: pod.metadata.name,
    });
  });

  it('starts init containers and native sidecars in order, then the app and its sidecars', async () => {
    expect(await logs('second')).toMatch(/^first\nproxy\npostgresql\nends \d+\n$/);
    const [first, proxy, last] = [await logs('first'), await logs('proxy'), await logs('second')];
    expect(second(first, 'begins')).toBeLessThan(second(first, 'ends'));
    expect(second(proxy, 'begins')).toBeGreaterThanOrEqual(second(first, 'ends'));
    expect(second(last, 'ends')).toBeGreaterThanOrEqual(second(proxy, 'begins'));
    const started = (name: string) => {
      const all = [...(pod.status.initContainerStatuses ?? []), ...(pod.status.containerStatuses ?? [])];
      const state = all.find((status) => status.name === name)?.state;
      return Date.parse(state?.running?.startedAt ?? state?.terminated?.finishedAt ?? '');
    };
    expect(started('app')).toBeGreaterThanOrEqual(started('second'));
    const running = pod.status.initContainerStatuses
      ?.filter(({ state }) => state.running)
      .map(({ name }) => name);
    expect(running).toContain('proxy');
    expect(pod.status.containerStatuses?.every(({ state }) => state.running)).toBe(true);
    expect(await logs('reader')).toMatch(/^begins \d+\n$/);
  });

  it('has the output of the program in its container logs', async () => {
    await http(await service(created.id), 'GET', '/not-there');
    const text = await logs('app');
    expect(text).toMatch(/ api version 1 starts\n/);
    expect(text).toMatch(/ api listens on 8000\n/);
    expect(text).toContain(' api GET /not-there\n');
  });

  it('has logs that the API of Berth returns by container and revision', async () => {
    type Line = { pod: string; container: string; revision_id?: string; text: string };
    const asked = `/v2/deployments/${created.id}/logs?component=api`;
    const { resources } = await call<{ resources: Line[] }>('GET', asked);
    const revision_id = created.latest_revision_id;
    const line = (container: string, text: RegExp) =>
      expect.objectContaining({
        pod: pod.metadata.name,
        container,
        text: expect.stringMatching(text),
        revision_id,
      });
    expect(resources).toContainEqual(line('app', / api version 1 starts$/));
    expect(resources).toContainEqual(line('reader', /^begins \d+$/));
  });

  it('runs the digest to which its tag was resolved', async () => {
    const [status] = pod.status.containerStatuses?.filter(({ name }) => name === 'app') ?? [];
    const wanted = pod.spec.containers.find(({ name }) => name === 'app')?.image;
    expect(wanted).toMatch(/@sha256:[0-9a-f]{64}$/);
    expect(status?.imageID).toBe(wanted?.replace(/:[^:@/]*@/, '@'));
  });

  it('is removed with its pods, Secrets and volume when it is deleted', async () => {
    await call('DELETE', `/v2/deployments/${created.id}`);
    await waitFor(
      'its objects to be gone',
      async () =>
        (await kubectl('get', 'mdep,pods,secrets,pvc', ...selector(created.id), '-o', 'name')) === '',
      { timeoutMs: 120_000, intervalMs: 300 },
    );
  });
});

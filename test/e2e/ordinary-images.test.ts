/** Images that were not made for Berth, as containers that answer through their Service: nginx, and a static site. */
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { kubectl as kubectlOf } from '../cluster/kubectl.ts';
import { waitFor } from '../cluster/wait.ts';
import { allShellBlocks } from '../docs/pages.ts';
import {
  call,
  create,
  get,
  http,
  kubectl,
  NAMESPACE,
  node,
  type Pod,
  pods,
  selector,
  service,
  untilReady,
  whySkipped,
} from './harness/environment.ts';

/** The page of nginx without content. */
const WELCOME = /<h1>Welcome to nginx!<\/h1>/;
const PAGE = '<h1>Spring menu</h1>\n';
/** A Service reaches its pod a moment after the pod is ready. */
const answerOf = (id: string, path = '/') =>
  waitFor(
    `an answer of ${id}`,
    async () => {
      const { status, body } = await http(await service(id), 'GET', path);
      return status < 500 && { status, body };
    },
    { timeoutMs: 60_000, intervalMs: 300 },
  );

/** A part of the block of README.md that contains this command. */
function fromReadme(command: string, part: RegExp): string {
  const block = allShellBlocks().find(({ page, text }) => page === 'README.md' && text.includes(command));
  const [, found] = part.exec(block?.text ?? '') ?? [];
  if (found === undefined) throw new Error(`failed to find ${part} in README.md`);
  return found;
}

describe.skipIf(whySkipped() !== undefined)('the stock image nginx', () => {
  it('serves its page through the Service when the request of README.md is sent', async () => {
    const body = fromReadme('/v2/deployments', /-d '([\s\S]*?)'/);
    const created = await call('POST', '/v2/deployments', JSON.parse(body));
    await untilReady(created.id);
    expect((await service(created.id)).port).toBe(80);
    expect(await answerOf(created.id)).toEqual({ status: 200, body: expect.stringMatching(WELCOME) });
    expect((await answerOf(created.id, '/not-there')).status).toBe(404);
    const [pod] = (await pods(created.id, 'api')) as [Pod];
    const exec = (...command: string[]) =>
      kubectl('-n', NAMESPACE, 'exec', pod.metadata.name, '-c', 'app', '--', ...command);
    // The master process starts as root, and starts workers as another user, which needs capabilities.
    const processes = await exec('ps', '-o', 'user,args');
    expect(processes).toMatch(/^root +nginx: master process/m);
    expect(processes).toMatch(/^nginx +nginx: worker process/m);
    expect(await exec('grep', 'NoNewPrivs', '/proc/1/status')).toMatch(/NoNewPrivs:\s*1/);
    expect(pod.status.containerStatuses?.map(({ restartCount }) => restartCount)).toEqual([0]);
    await call('DELETE', `/v2/deployments/${created.id}`);
  });

  it('serves its page when the custom resource of README.md is applied by hand', async () => {
    const text = fromReadme('mdep/by-hand', /<<'EOF'\n([\s\S]*?)\nEOF/);
    const { metadata } = parse(text) as { metadata: { name: string } };
    const byHand = `mdep/${metadata.name}`;
    await kubectlOf(node(), ['apply', '-n', NAMESPACE, '-f', '-'], text);
    await kubectl('-n', NAMESPACE, 'wait', byHand, '--for=condition=Ready', '--timeout=180s');
    type Service = { spec: { clusterIP: string; ports: { port: number }[] } };
    const { spec } = await get<Service>('service', metadata.name, '-n', NAMESPACE);
    const to = { host: spec.clusterIP, port: spec.ports[0]?.port ?? 0 };
    const { body } = await waitFor('an answer', () => http(to, 'GET', '/'), { timeoutMs: 60_000 });
    expect(body).toMatch(WELCOME);
    await kubectl('-n', NAMESPACE, 'delete', byHand, '--wait=false');
  });
});

describe.skipIf(whySkipped() !== undefined)('a static site without database and cache', () => {
  it('is READY with one pod, without any other object, and serves its page', async () => {
    const created = await create('site', 'site:1', {
      config: {
        security_profile: 'baseline',
        database: { enabled: false },
        cache: { enabled: false },
      },
      revision: { port: 80 },
    });
    await untilReady(created.id);
    expect(await answerOf(created.id)).toEqual({ status: 200, body: PAGE });
    const all = await get<{ items: { kind: string }[] }>(
      'pods,statefulsets,pvc,deployments',
      ...selector(created.id),
    );
    expect(all.items.map(({ kind }) => kind).toSorted()).toEqual(['Deployment', 'Pod']);
    await call('DELETE', `/v2/deployments/${created.id}`);
  });
});

/** Repositories with a Procfile: builds run in pods of a real node, and web and worker run from one image. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FIRST_TIME_MS } from '../cluster/images/tools.ts';
import { kubectl } from '../cluster/kubectl.ts';
import { waitFor } from '../cluster/wait.ts';
import type { DeploymentAnswer } from '../integration/harness/berth.ts';
import { type BuildCluster, startBuildCluster } from './harness/build-cluster.ts';
import { node, whySkipped } from './harness/environment.ts';

interface Revision {
  status: string;
  reason: string | null;
  message: string | null;
  resolved_image: string | null;
  source_revision_config: { repo_commit_sha: string | null };
  effective_commands?: Record<string, { args: string[]; source: string }>;
}
interface List<T> {
  items: T[];
}

describe.skipIf(whySkipped() !== undefined)('a repository with a Procfile', () => {
  let cluster: BuildCluster;
  beforeAll(async () => {
    cluster = await startBuildCluster(node().pushHost, () => undefined);
  }, FIRST_TIME_MS);
  afterAll(() => cluster?.stop());

  async function call<T>(method: string, path: string, body?: object): Promise<T> {
    const headers = { 'x-api-key': cluster.apiKey, 'content-type': 'application/json' };
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    const answer = await fetch(new URL(path, cluster.apiUrl), { method, headers, ...sent });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return JSON.parse(text) as T;
  }

  const get = async <T>(kind: string, id: string, component: string): Promise<T> => {
    const labels = `berth.dev/deployment-id=${id},app.kubernetes.io/component=${component}`;
    return JSON.parse(await kubectl(cluster.node, ['get', kind, '-A', '-l', labels, '-o', 'json'])) as T;
  };

  async function untilDeployed(id: string): Promise<Revision> {
    let last: Revision | undefined;
    const giveUpIf = () => {
      if (last?.status.endsWith('FAILED')) throw new Error(JSON.stringify(last));
    };
    return waitFor(
      'the revision to be DEPLOYED',
      async () => {
        const path = `/v2/deployments/${id}/revisions`;
        [last] = (await call<{ resources: Revision[] }>('GET', path)).resources;
        if (last?.status === 'DEPLOYED') return last;
        throw new Error(JSON.stringify(last));
      },
      { timeoutMs: 300_000, intervalMs: 500, giveUpIf },
    );
  }

  /** URL of the Service of the app, on this machine. */
  async function urlOf(id: string): Promise<string> {
    type Service = { spec: { clusterIP: string; ports: { port: number }[] } };
    const [found] = (await get<List<Service>>('services', id, 'app')).items;
    return cluster.node.forward(found?.spec.clusterIP ?? '', found?.spec.ports[0]?.port ?? 0);
  }

  it.each([
    ['node', 'Node', { api: 'exec node web.mjs', queue: 'exec node worker.mjs' }],
    ['python', 'Python', { api: 'exec python3 web.py', queue: 'exec python3 worker.py' }],
  ] as const)(
    'is built, and its worker does the jobs that its web process accepts: %s',
    async (name, language, lines) => {
      const repo_url = await cluster.push(name);
      const created = await call<DeploymentAnswer>('POST', '/v2/deployments', {
        name,
        source: 'git_host',
        source_config: { repo_url, database: { enabled: false } },
        source_revision_config: { workflow_config_path: 'berth.yaml', repo_ref: 'main' },
        secrets: [],
      });
      const revision = await untilDeployed(created.id);
      const head = (await cluster.git.git(`team/${name}`, 'rev-parse', 'main')).trim();
      expect(revision.source_revision_config.repo_commit_sha).toBe(head);
      for (const [component, line] of Object.entries(lines))
        expect(revision.effective_commands?.[component]).toMatchObject({ args: [line], source: 'procfile' });
      type Pods = List<{ spec: { containers: { image: string }[] } }>;
      for (const component of Object.keys(lines)) {
        const { items } = await get<Pods>('pods', created.id, component);
        expect(items.map(({ spec }) => spec.containers[0]?.image)).toEqual([revision.resolved_image]);
      }
      const url = await urlOf(created.id);
      const posted = await waitFor(
        'the web process to accept a job',
        async () => {
          const answer = await fetch(`${url}/?text=order`, { method: 'POST' });
          return answer.ok && answer.text();
        },
        { timeoutMs: 60_000, intervalMs: 500 },
      );
      expect(posted).toMatch(/^:\d+$/);
      const result = `ORDER from ${language}`;
      await waitFor('the result of the worker', async () => (await (await fetch(url)).text()) === result, {
        timeoutMs: 60_000,
        intervalMs: 300,
      });
    },
    480_000,
  );
});

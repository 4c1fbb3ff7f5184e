/** Cloud mode, end to end: each tenant in a namespace of its own, restricted, isolated, under a quota. */
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type KubeList, startWholeBerth, type WholeBerth } from '../harness/berth.ts';
import { deleteNamespace, kubectlAsAdmin } from '../harness/environment.ts';

let berth: WholeBerth;
let namespace: string;
beforeAll(async () => {
  berth = await startWholeBerth('cloud', { hosting: 'cloud' });
  namespace = `berth-${berth.tenantId}`;
});
afterAll(async () => {
  await berth?.stop();
  await deleteNamespace(namespace);
});

const get = async (...args: string[]): Promise<KubeList> =>
  JSON.parse(await kubectlAsAdmin(['get', '-n', namespace, '-o', 'json', ...args]));
const sample = (file: string): { name: string; source_config: object } =>
  JSON.parse(readFileSync(new URL(`../../samples/${file}`, import.meta.url), 'utf8'));

describe('cloud mode', () => {
  it.each(['internal-image.json', 'internal-image-agents.json'])('brings %s to READY', async (file) => {
    const { id } = await berth.create(sample(file));
    await berth.ready(id);
    const pods = (await get('pods', '-l', `berth.dev/deployment-id=${id}`)).items;
    expect(pods.length).toBeGreaterThanOrEqual(3);
  });

  it('runs a sidecar and an init container that specify only their image', async () => {
    const { id } = await berth.create({
      name: 'bare containers',
      source: 'internal_image',
      source_config: {
        resource_spec: {
          sidecars: [{ name: 'helper', image: 'registry.example/helper:1' }],
          init_containers: [
            { name: 'first', image: 'registry.example/first:1', resources: { limits: { memory: '64Mi' } } },
          ],
        },
      },
      source_revision_config: { image_uri: 'registry.example/team/app:1' },
      secrets: [],
    });
    await berth.ready(id);
  });

  it('restricts the namespace of the tenant, closes its network by default, and sets a quota', async () => {
    const [own] = (
      JSON.parse(
        await kubectlAsAdmin([
          'get',
          'namespaces',
          '-o',
          'json',
          '-l',
          `berth.dev/tenant-id=${berth.tenantId}`,
        ]),
      ) as KubeList
    ).items;
    expect(own?.metadata.name).toBe(namespace);
    expect(own?.metadata.labels?.['pod-security.kubernetes.io/enforce']).toBe('restricted');
    const names = (await get('networkpolicies,resourcequotas,limitranges')).items.map(
      ({ metadata }) => metadata.name,
    );
    expect(names).toEqual(
      expect.arrayContaining(['berth-default-deny', 'berth-tenant', 'berth-container-defaults']),
    );
  });

  it('rejects a repository if there is no registry for built images', async () => {
    const answer = await berth.call('POST', '/v2/deployments', {
      name: 'from-git',
      source: 'git_host',
      source_config: { repo_url: 'https://git.example/team/app' },
      source_revision_config: { workflow_config_path: 'berth.yaml' },
      secrets: [],
    });
    expect(answer).toMatchObject({
      status: 400,
      body: {
        detail: [{ type: 'builds_unavailable', loc: ['body', 'source'], msg: expect.any(String) as string }],
      },
    });
    expect(JSON.stringify(answer.body)).toContain('BERTH_REGISTRY');
  });
});

/** The URL that the server gives deployments in cloud mode, below the platform's domain. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { resolvePolicy } from '../../../../src/domain/policy/policy.ts';
import { type ApiFixture, type Client, startApi } from '../../harness/api.ts';

interface Shown {
  id: string;
  generation: number;
  source_config: { custom_url: string | null };
}

const policy = resolvePolicy('cloud', { custom_url: { allowed_hosts: ['*.shop.example'] } });
let api: ApiFixture;
let client: Client;
beforeAll(async () => {
  api = await startApi({ hosting: 'cloud', deps: { appDomain: 'apps.example.com', policy } });
  client = await api.tenant();
});
afterAll(() => api.stop());

const body = (name: string, source: 'git_host' | 'internal_image', custom_url?: string) => ({
  name,
  source,
  source_config: {
    ...(source === 'git_host' ? { repo_url: 'https://git.example/team/app' } : {}),
    ...(custom_url === undefined ? {} : { custom_url }),
  },
  source_revision_config: source === 'git_host' ? { workflow_config_path: 'berth.yaml' } : {},
  secrets: [],
});
const create = async (...args: Parameters<typeof body>) => {
  const made = await client.call<Shown>('POST', '/v2/deployments', body(...args));
  expect(made.status).toBe(201);
  return made.body;
};
const patch = (id: string, custom_url: string | null) =>
  client.call<Shown>('PATCH', `/v2/deployments/${id}`, { source_config: { custom_url } });

test.each(['git_host', 'internal_image'] as const)(
  'a PATCH with null or the same URL keeps the generated custom_url of %s',
  async (source) => {
    const made = await create(`Shop ${source}`, source);
    const url = made.source_config.custom_url;
    expect(url).toMatch(/^https:\/\/shop-[a-z-]+-[0-9a-f]{8}\.apps\.example\.com$/);
    for (const sent of [null, url]) {
      expect(await patch(made.id, sent)).toMatchObject({
        status: 200,
        body: { generation: made.generation, source_config: { custom_url: url } },
      });
    }
  },
);

test('a PATCH with another custom_url returns 400 for git_host', async () => {
  const { id } = await create('other', 'git_host');
  expect(await patch(id, 'https://a.shop.example')).toMatchObject({
    status: 400,
    body: { detail: [{ loc: ['body', 'source_config', 'custom_url'] }] },
  });
});

test('internal_image accepts a custom_url that the policy allows, and null restores the generated one', async () => {
  const made = await create('own', 'internal_image', 'https://own.shop.example');
  expect(made.source_config.custom_url).toBe('https://own.shop.example');
  const back = await patch(made.id, null);
  expect(back.body.source_config.custom_url).toMatch(/^https:\/\/own-[0-9a-f]{8}\.apps\.example\.com$/);
  const again = await patch(made.id, 'https://again.shop.example');
  expect(again.body.source_config.custom_url).toBe('https://again.shop.example');
});

test('a POST with the generated custom_url of another deployment returns 400', async () => {
  const made = await create('theirs', 'internal_image');
  const asked = await client.call(
    'POST',
    '/v2/deployments',
    body('mine', 'internal_image', made.source_config.custom_url ?? ''),
  );
  expect(asked).toMatchObject({
    status: 400,
    body: { detail: [{ loc: ['body', 'source_config', 'custom_url'] }] },
  });
});

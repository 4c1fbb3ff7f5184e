/** Commands for deployments against a server that answers like the API. */
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { command, fakeApi } from './fake-api.ts';

const ID = '0196f0a0-5c1e-7b3a-9d51-0c4f6f1c2a77';
const OTHER = '0196f0a0-5c1e-7b3a-9d51-0c4f6f1c2a78';
const MINE = '0196f0a0-5c1e-7b3a-9d51-0c4f6f1c2a01';
const BEFORE = '0196f0a0-5c1e-7b3a-9d51-0c4f6f1c2a00';
const THEIRS = '0196f0a0-5c1e-7b3a-9d51-0c4f6f1c2a02';
const sample = fileURLToPath(new URL('../../../samples/shop.json', import.meta.url));

const deployment = (more: object = {}) => ({
  id: ID,
  name: 'shop',
  status: 'READY',
  remote_reconciled: true,
  source: 'external_image',
  url: null,
  generation: 1,
  observed_generation: 1,
  source_config: {},
  source_revision_config: {},
  effective_resource_spec: { max_scale: 1 },
  secrets: [],
  conditions: [{ type: 'Ready', status: 'True', reason: 'Ready', message: '' }],
  created_at: '2026-01-15T09:30:00.000Z',
  updated_at: '2026-01-15T09:30:00.000Z',
  latest_revision_id: BEFORE,
  active_revision_id: BEFORE,
  ...more,
});
const list = (...resources: object[]) => [200, { resources, offset: resources.length }] as const;

describe('two deployments at the same time', () => {
  /** Someone else deploys directly after this command, and their revision serves. */
  const api = (changed: object) => {
    const one = `/v2/deployments/${ID}`;
    const answers: Readonly<Record<string, readonly [number, unknown]>> = {
      'GET /v2/deployments': list(deployment()),
      'POST /v2/deployments': [201, deployment(changed)],
      [`PATCH ${one}`]: [200, deployment(changed)],
      [`GET ${one}`]: [200, deployment({ latest_revision_id: THEIRS, active_revision_id: THEIRS })],
      [`PATCH ${one}/secrets`]: [200, { id: 'd1', names: ['A'], generation: 2, latest_revision_id: MINE }],
      [`POST ${one}/revisions`]: [201, { id: MINE, number: 2 }],
      [`GET ${one}/revisions/${MINE}`]: [200, { id: MINE, number: 2, status: 'SKIPPED' }],
      [`GET ${one}/revisions/${MINE}/explain`]: [
        200,
        { summary: 'A newer revision replaced it.', remedy: null, causes: [], effects: [] },
      ],
    };
    return fakeApi(({ line }) => answers[line]);
  };

  test.each([
    ['deploy', ['deploy', 'shop', '--image', 'a'], { latest_revision_id: MINE }],
    ['deploy with --wait', ['deploy', 'shop', '--image', 'a', '--wait'], { latest_revision_id: MINE }],
    ['deploy of the same image', ['deploy', 'shop', '--image', 'a'], {}],
    ['patch', ['deployments', 'patch', 'shop', '-f', sample, '--wait'], { latest_revision_id: MINE }],
    ['create', ['deployments', 'create', '-f', sample, '--wait'], { latest_revision_id: MINE }],
    ['secrets set', ['secrets', 'set', 'shop', 'A=1', '--wait'], {}],
  ])('a %s fails when the revision of someone else replaces its own', async (_what, words, changed) => {
    const { url } = await api(changed);
    const { code, err } = await command(words, { url });
    expect(code, err).toBe(1);
    expect(err).toContain('revision 2: SKIPPED. A newer revision replaced it.');
    expect(err).not.toContain('READY with its latest revision active');
  });

  test('a deploy does not wait when --no-wait is given', async () => {
    const { url, calls } = await api({ latest_revision_id: MINE });
    expect(await command(['deploy', 'shop', '--image', 'a', '--no-wait'], { url })).toMatchObject({
      code: 0,
    });
    expect(calls.map(({ line }) => line)).not.toContain(`GET /v2/deployments/${ID}/revisions/${MINE}`);
  });

  test('a scale succeeds when the revision of someone else serves, because it creates none', async () => {
    const { url } = await api({ latest_revision_id: MINE });
    expect(await command(['scale', 'shop', '--max', '2', '--wait'], { url })).toMatchObject({ code: 0 });
  });
});

describe('secrets', () => {
  const api = () =>
    fakeApi(({ line }) => {
      if (line === 'GET /v2/deployments') return list(deployment());
      if (line === 'POST /v2/deployments') return [201, deployment()];
      return line === `PATCH /v2/deployments/${ID}` ? [200, deployment()] : undefined;
    });

  test.each([
    [['deployments', 'get', 'shop', '-o', 'json'], 'true'],
    [['deployments', 'list', '-o', 'yaml'], 'true'],
    [['deployments', 'create', '-f', sample, '-o', 'json'], 'true'],
    [['deployments', 'patch', 'shop', '-f', sample, '-o', 'json'], 'true'],
    [['scale', 'shop', '--max', '2', '-o', 'yaml'], 'true'],
    [['deployments', 'get', 'shop', '-o', 'json', '--show-secrets'], 'false'],
    [['deployments', 'list', '--show-secrets', '-o', 'yaml'], 'false'],
  ])('asks for masked values (mask_secrets) when %j runs: %s', async (words, masked) => {
    const { url, calls } = await api();
    expect(await command(words, { url })).toMatchObject({ code: 0 });
    expect(calls.at(-1)?.query.get('mask_secrets')).toBe(masked);
  });
});

test.each([
  ['deployments', 'list', '--show-secrets'],
  ['deployments', 'list', '--show-secrets', '-o', 'name'],
  ['deployments', 'get', 'shop', '--show-secrets', '-o', 'name'],
])('rejects --show-secrets when the output contains no secrets: %s %s %s %s', async (...words) => {
  const { url, calls } = await fakeApi(() => list(deployment()));
  const { code, err } = await command(words, { url });
  expect(code).toBe(2);
  expect(err).toContain('contains no secrets: remove --show-secrets, or use -o json or -o yaml');
  expect(calls).toEqual([]);
});

test('prints the id instead of the name when a deployment is being deleted', async () => {
  const { url } = await fakeApi(() =>
    list(deployment({ id: OTHER, status: 'AWAITING_DELETE' }), deployment()),
  );
  expect(await command(['deployments', 'list', '-o', 'name'], { url })).toMatchObject({
    out: `${OTHER}\nshop\n`,
  });
});

describe('restore', () => {
  const api = (...found: object[]) =>
    fakeApi(({ line, query }) => {
      if (line === 'GET /v2/deployments' && query.get('status') === 'AWAITING_DELETE') return list(...found);
      return /^POST .*\/restore$/.test(line) ? [200, deployment({ id: OTHER })] : undefined;
    });

  test('takes the deployment that is being deleted, not a newer one with the same name', async () => {
    const { url, calls } = await api(deployment({ id: OTHER, status: 'AWAITING_DELETE' }));
    expect(await command(['restore', 'shop'], { url })).toMatchObject({ code: 0 });
    expect(calls.at(-1)?.line).toBe(`POST /v2/deployments/${OTHER}/restore`);
  });

  test('accepts an id', async () => {
    const { url } = await api();
    expect(await command(['restore', OTHER, '-o', 'name'], { url })).toMatchObject({
      code: 0,
      out: 'shop\n',
    });
  });

  test('lists the ids when several with the name are being deleted', async () => {
    const { url } = await api(deployment(), deployment({ id: OTHER }));
    const { code, err } = await command(['restore', 'shop'], { url });
    expect(code).toBe(1);
    expect(err).toContain(`are being deleted: ${ID}, ${OTHER}; next: berth restore ID`);
  });

  test('names the command that lists them when none is being deleted', async () => {
    const { url } = await api();
    const { code, err } = await command(['restore', 'shop'], { url });
    expect(code).toBe(1);
    expect(err).toContain('next: berth deployments list --status AWAITING_DELETE');
  });
});

describe('delete', () => {
  /** @param left number of reads until the deployment is gone */
  const api = (left: number) => {
    let reads = left;
    return fakeApi(({ line }) => {
      if (line === 'GET /v2/deployments') return list(deployment());
      if (line === `DELETE /v2/deployments/${ID}`) return [204, null];
      if (line === `GET /v2/deployments/${ID}` && reads-- > 0)
        return [200, deployment({ status: 'AWAITING_DELETE' })];
      return undefined;
    });
  };
  const words = ['deployments', 'delete', 'shop', '--yes', '-o'];

  test.each([
    ['json', [], 9, { id: ID, name: 'shop', deleted: false }],
    ['json', ['--force'], 0, { id: ID, name: 'shop', deleted: true }],
    ['json', ['--wait'], 1, { id: ID, name: 'shop', deleted: true }],
    ['json', ['--wait', '--timeout', '0.1'], 9, { id: ID, name: 'shop', deleted: false }],
  ])('prints what is known when -o %s %j is given', async (format, more, left, result) => {
    const { url } = await api(left);
    const { code, out } = await command([...words, format, ...more], { url });
    expect(JSON.parse(out)).toEqual(result);
    expect(code).toBe(more.includes('--timeout') ? 1 : 0);
  });

  test('prints the id with -o name, and the state as text', async () => {
    const { url } = await api(1);
    expect(await command([...words, 'name', '--wait'], { url })).toMatchObject({ code: 0, out: `${ID}\n` });
    expect(await command([...words, 'table'], { url })).toMatchObject({ out: 'shop is deleted\n' });
  });
});

test('names the command that creates a deployment when deploy finds none', async () => {
  const { url } = await fakeApi(() => list());
  expect(await command(['deploy', 'missing', '--image', 'a'], { url })).toMatchObject({
    code: 1,
    err: 'berth: 404: there is no deployment "missing"; next: berth deployments create -f FILE\n',
  });
});

test('prints an empty list as an empty list, and nothing for -o name', async () => {
  const { url } = await fakeApi(() => list());
  expect(await command(['deployments', 'list', '-o', 'json'], { url })).toMatchObject({ out: '[]\n' });
  expect(await command(['deployments', 'list', '-o', 'name'], { url })).toMatchObject({ out: '' });
});

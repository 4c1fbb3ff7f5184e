/** `berth revisions rollback` against a server that answers like the API. */
import { expect, test } from 'vitest';
import { command, fakeApi } from './fake-api.ts';

const ID = '0196f0a0-5c1e-7b3a-9d51-0c4f6f1c2a77';
const OLD = '0196f0a0-5c1e-7b3a-9d51-0c4f6f1c2a01';
const plan = {
  manifests: [{ apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'shop-api' } }],
  new_revision: true,
  builds: false,
  pods_roll: true,
  rolls: ['api', 'queue'],
  changes: [{ field: 'source_revision_config.image_uri', before: 'shop:2', after: 'shop:1' }],
};

const api = (answer: object) =>
  fakeApi(({ line }) => {
    if (line === 'GET /v2/deployments')
      return [200, { resources: [{ id: ID, name: 'shop', latest_revision_id: OLD }], offset: 1 }];
    return line === `POST /v2/deployments/${ID}/revisions/${OLD}/rollback` ? [200, answer] : undefined;
  });

test('a dry run of a rollback prints changes, effects and objects, and stores nothing', async () => {
  const { url, calls } = await api(plan);
  const { code, out } = await command(['revisions', 'rollback', 'shop', OLD, '--dry-run'], { url });
  expect(code).toBe(0);
  expect(out).toContain('Pods are replaced: api, queue.\nA new revision is created.');
  expect(out).toMatch(/source_revision_config.image_uri +shop:2 +shop:1/);
  expect(out).toMatch(/Deployment +shop-api/);
  const call = calls.at(-1);
  expect(call?.query.get('dry_run')).toBe('true');
  expect(call?.headers['idempotency-key']).toBeUndefined();
});

test('a dry run says when the objects are not known, or nothing differs', async () => {
  const { url } = await api({ ...plan, manifests: null, changes: [], pods_roll: false });
  const { out } = await command(['revisions', 'rollback', 'shop', OLD, '--dry-run'], { url });
  expect(out).toContain('No pods are replaced.');
  expect(out).toContain('The latest revision has the same content.');
  expect(out).toContain('The objects are not known until the listener');
});

test('a dry run fails if the API created a revision', async () => {
  const { url } = await api({ id: OLD, number: 3 });
  const { code, err } = await command(['revisions', 'rollback', 'shop', OLD, '--dry-run'], { url });
  expect(code).not.toBe(0);
  expect(err).toContain('created a revision instead of a preview');
});

test('a dry run cannot wait', async () => {
  const { url, calls } = await api(plan);
  const { err } = await command(['revisions', 'rollback', 'shop', OLD, '--dry-run', '--wait'], { url });
  expect(err).toContain('--dry-run changes nothing');
  expect(calls).toEqual([]);
});

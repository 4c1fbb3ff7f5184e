import { describe, expect, test } from 'vitest';
import { comparable, podTemplates } from '../../faults/walk/cluster-state.ts';
import { effectIssues, rejectionIssues } from '../../faults/walk/effects.ts';
import { afterPatch, patchTo, type WalkRecord } from '../../faults/walk/record.ts';
import { differencesOf, leftovers, otherRevisions, surplusPods } from '../../faults/walk/state-checks.ts';
import { deployment, stateOf } from './walk-fixtures.ts';

const record: WalkRecord = {
  spec: { cpu: 1, labels: { a: 'b' }, db_storage_gi: 20 },
  image: 'registry.test/app:1',
  settings: { port: 80, commands: { api: { args: ['a'] } } },
  secrets: [{ name: 'A', value: '1' }],
  customUrl: null,
};

describe('a record after a PATCH', () => {
  const spec = (change: Record<string, unknown> | null) =>
    afterPatch(record, { source_config: { resource_spec: change } }).spec;

  test('keeps absent fields, removes null fields, and replaces lists and maps', () => {
    expect(afterPatch(record, {})).toEqual(record);
    expect(spec({ cpu: null, labels: { c: 'd' } })).toEqual({ labels: { c: 'd' }, db_storage_gi: 20 });
  });

  test('keeps its volume size when fields are removed', () => {
    expect(spec({ db_storage_gi: null })).toEqual(record.spec);
    expect(spec(null)).toEqual({ db_storage_gi: 20 });
    expect(spec({ db_storage_gi: 30 })).toEqual({ ...record.spec, db_storage_gi: 30 });
  });

  test('merges pod settings by component, and has none if all are removed', () => {
    const set = afterPatch(record, {
      source_config: {
        security_profile: 'restricted',
        health_checks: { api: { type: 'tcp' }, queue: { type: 'none' } },
      },
    });
    expect(set.podSettings?.health_checks).toEqual({ api: { type: 'tcp' }, queue: { type: 'none' } });
    const less = afterPatch(set, { source_config: { security_profile: null, health_checks: { api: null } } });
    expect(less.podSettings).toEqual({ health_checks: { queue: { type: 'none' } } });
    expect(afterPatch(less, { source_config: { health_checks: null } })).toEqual(record);
    expect(afterPatch(record, patchTo(record, set)).podSettings).toEqual(set.podSettings);
    expect(afterPatch(set, patchTo(set, record))).toEqual(record);
  });

  test('returns to an earlier record, except for the volume size', () => {
    const later: WalkRecord = {
      ...record,
      spec: { memory_mb: 1, db_storage_gi: 40 },
      customUrl: 'https://a.example',
      settings: { env: [{ name: 'B', value: '' }], commands: { queue: { args: ['q'] } } },
    };
    expect(afterPatch(later, patchTo(later, record))).toEqual({
      ...record,
      spec: { ...record.spec, db_storage_gi: 40 },
    });
  });
});

describe('two states', () => {
  const of = (id: string, more?: Parameters<typeof stateOf>[1]) => ({
    deployment: deployment(id, `${id}.example`),
    state: stateOf(id, more),
  });

  test('of the same record are equal, except for their own names and addresses', () => {
    expect(differencesOf(of('id-0001'), of('id-of-00002'))).toEqual([]);
  });

  test('differ by another value or number of pods', () => {
    expect(differencesOf(of('id-0001', { cpu: '2' }), of('id-of-00002'))).toEqual([
      'Deployment/<app>-api.spec.template.spec.cpu: walked "2", direct "1"',
    ]);
    expect(differencesOf(of('id-0001', { replicas: 2 }), of('id-of-00002'))).toEqual([
      'Deployment/<app>-api.spec.replicas: walked 2, direct 1',
    ]);
  });

  test('may differ by the number of pods that an autoscaler sets', () => {
    expect(
      differencesOf(of('id-0001', { replicas: 2, scaled: true }), of('id-of-00002', { scaled: true })),
    ).toEqual([]);
    expect(differencesOf(of('id-0001', { scaled: true }), of('id-of-00002'))).toContain(
      'HorizontalPodAutoscaler/<app>-api: only in the walked state',
    );
  });

  test('differ by a value of the environment', () => {
    expect(differencesOf(of('id-0001', { value: 'hello\n' }), of('id-of-00002'))).toEqual([
      'Secret/<app>-env.data.A: walked "hello\\n", direct "hello"',
    ]);
  });

  test('differ by credentials other than the password, and by a URI with another password', () => {
    expect(differencesOf(of('id-0001', { role: 'root' }), of('id-of-00002'))).toEqual([
      expect.stringContaining('Secret/<app>-db.data.uri: walked "postgresql://root:<password>@<app>-db:'),
      'Secret/<app>-db.data.username: walked "root", direct "app"',
    ]);
    expect(differencesOf(of('id-0001', { otherPassword: 'unknown' }), of('id-of-00002'))).toEqual([
      expect.stringContaining('Secret/<app>-db.data.uri: walked "postgresql://app:<another password>@'),
    ]);
  });

  test('may differ by database credentials when the record names another database', () => {
    const custom = [{ name: 'DATABASE_URI_CUSTOM', value: 'postgres://db.example' }];
    const reached = (id: string, secrets: typeof custom, credentials: boolean) => {
      const state = stateOf(id);
      const Secret = state.Secret.filter(({ metadata }) => credentials || !metadata.name.endsWith('-db'));
      return { deployment: deployment(id, null, secrets), state: { ...state, Secret } };
    };
    expect(differencesOf(reached('id-0001', custom, true), reached('id-0002', custom, false))).toEqual([]);
    const other = differencesOf(reached('id-0001', custom, false), reached('id-0002', custom, true));
    expect(other).toEqual(['Secret/<app>-db: only in the direct state']);
    expect(differencesOf(reached('id-0001', [], true), reached('id-0002', [], false))).toEqual([
      'Secret/<app>-db: only in the walked state',
    ]);
  });

  test('contain no generated value, and only the current environment', () => {
    const text = [...comparable(stateOf('id-0001'), deployment('id-0001', null)).entries()].join('\n');
    expect(text).not.toContain('password-of-');
    expect(text).not.toContain('token-of-');
    for (const name of ['env', 'pull']) expect(text).toContain(`Secret/<app>-${name}`);
    expect(text).not.toContain('OLD');
  });

  test('separate the hashes of templates from their content', () => {
    const { hashes, texts } = podTemplates(stateOf('id-0001'), deployment('id-0001', null));
    expect(hashes).toEqual({ '<app>-api': 'hash-id-0001' });
    expect(texts).toEqual(podTemplates(stateOf('id-of-00002'), deployment('id-of-00002', null)).texts);
  });
});

describe('a state is reported', () => {
  test('when the number of pods differs from the desired number', () => {
    const { ManagedDeployment } = stateOf('id-0001');
    expect(surplusPods({ ...stateOf('id-0001'), ManagedDeployment })).toEqual(['api: 0 pods, 1 desired']);
    expect(surplusPods(stateOf('id-0001', { replicas: 0 }))).toEqual([]);
  });

  test('when a component has another revision than the active one', () => {
    expect(otherRevisions(stateOf('id-0001'), deployment('id-0001', null))).toEqual([]);
    expect(otherRevisions(stateOf('id-0001'), deployment('id-0003', null))).toEqual([
      'app-id-0001-api is of revision revision-of-id-0001, active is revision-of-id-0003',
    ]);
  });

  test('when stored templates accumulate', () => {
    const one = (index: number) =>
      ({ metadata: { name: `app-id-0001-${index}`, labels: { 'berth.dev/inputs-hash': 'x' } } }) as never;
    const kept = Array.from({ length: 10 }, (_, index) => one(index));
    expect(leftovers({ ...stateOf('id-0001'), ControllerRevision: kept })).toEqual([]);
    const many = Array.from({ length: 20 }, (_, index) => one(index));
    expect(leftovers({ ...stateOf('id-0001'), ControllerRevision: many })).toEqual(['20 stored templates']);
  });
});

describe('a call is reported', () => {
  const before = { ...(deployment('id-0001', null) as object), generation: 1, updated_at: 'then' };
  const step = (call: object) => ({ what: 'it', call, wait: true }) as never;
  const answer = (more: object) => ({ ...before, ...more }) as never;
  const image = (uri: string) => ({ source_revision_config: { image_uri: uri } });
  const patch = step({ kind: 'patch', body: image('registry.test/app:2') });
  const messages = (issues: readonly { readonly message: string }[]) => issues.map(({ message }) => message);

  test('when the record differs from the request, or no revision was created', () => {
    const right = answer({ ...image('registry.test/app:2'), latest_revision_id: 'new', generation: 2 });
    expect(effectIssues(patch, before as never, right)).toEqual([]);
    expect(messages(effectIssues(patch, before as never, answer({})))).toEqual([
      'it: the record differs from that of the contract',
    ]);
    expect(messages(effectIssues(patch, before as never, answer(image('registry.test/app:2'))))).toEqual([
      'it: no new revision',
    ]);
  });

  test('when it had an effect that was not requested', () => {
    const nothing = step({ kind: 'patch', body: {} });
    expect(messages(effectIssues(nothing, before as never, answer({ generation: 2 })))).toEqual([
      'it changed the generation, but not the record',
    ]);
    expect(messages(effectIssues(nothing, before as never, answer({ latest_revision_id: 'new' })))).toEqual([
      'it: an unexpected new revision',
    ]);
    expect(messages(effectIssues(step({ kind: 'redeploy' }), before as never, answer({})))).toEqual([
      'it: no new revision',
    ]);
  });

  test('when it should have been rejected and was accepted', () => {
    const rejected = (spec: object) =>
      ({
        move: 'rejected',
        what: 'it',
        call: { kind: 'patch', body: { source_config: { resource_spec: spec } } },
      }) as never;
    const own = { ...before, secrets: [{ name: 'DATABASE_URI_CUSTOM', value: 'x' }] };
    const accepted = (spec: object, of: object) =>
      messages(effectIssues(rejected(spec), of as never, of as never));
    expect(accepted({ min_scale: -1 }, own)).toContain('it was accepted');
    expect(accepted({ db_max_connections: 1 }, before)).toContain('it was accepted');
    expect(accepted({ db_max_connections: 1 }, own)).not.toContain('it was accepted');
  });

  test('when it was rejected and had an effect', () => {
    expect(rejectionIssues(400, before as never, answer({}))).toEqual([]);
    expect(rejectionIssues(400, before as never, answer({ updated_at: 'now' }))).toEqual([
      {
        message: 'a rejected call (400) had an effect',
        diff: ['deployment.updated: walked "now", direct "then"'],
      },
    ]);
  });
});

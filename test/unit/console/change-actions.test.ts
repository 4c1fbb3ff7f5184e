import { describe, expect, test } from 'vitest';
import type { Deployment, Explanation } from '../../../src/console/api/types.ts';
import { changeCommand, deleteCommand } from '../../../src/console/change/commands.ts';
import { followOf, progressOf } from '../../../src/console/change/follow.ts';
import { changeText, effectsOf, isEmpty, objectsOf, type Plan } from '../../../src/console/change/plan.ts';
import { scalePatch, scalesOf } from '../../../src/console/change/scale.ts';

const ready = {
  id: 'd1',
  tenant_id: 't1',
  name: 'shop',
  generation: 3,
  status: 'READY',
  remote_reconciled: true,
  latest_revision_id: 'r2',
  active_revision_id: 'r2',
  conditions: [{ type: 'Ready', status: 'True', reason: 'Ready', message: '', lastTransitionTime: '' }],
  effective_resource_spec: { min_scale: 1, max_scale: 2, queue_min_scale: null, queue_max_scale: null },
} as unknown as Deployment;

describe('progressOf', () => {
  const follow = (more: object, explanation: object | null = null, isStale = false) =>
    progressOf({ ...ready, ...more } as Deployment, {
      generation: 3,
      explanation: explanation as Explanation | null,
      isStale,
    }).state;

  test('is done when the latest revision serves and everything was observed', () => {
    expect(follow({})).toBe('done');
    expect(follow({ remote_reconciled: false })).toBe('running');
    expect(follow({ active_revision_id: 'r1' })).toBe('running');
    expect(follow({ conditions: [] })).toBe('running');
  });

  test('waits for the generation of the change, so that the state before it does not count', () => {
    expect(follow({ generation: 2 })).toBe('running');
  });

  test('is not known when the state may be out of date', () => {
    expect(follow({}, null, true)).toBe('unknown');
  });

  test('fails with the latest revision, and says that the former one serves', () => {
    const failed = { revision_id: 'r2', number: 2, status: 'DEPLOY_FAILED' };
    const textOf = (serving: string) => {
      const conditions = [{ type: 'Serving', status: serving, reason: '', message: '' }];
      const shown = { ...ready, active_revision_id: 'r1', conditions } as Deployment;
      return progressOf(shown, { generation: 3, explanation: failed as Explanation, isStale: false });
    };
    expect(textOf('True')).toEqual({
      state: 'failed',
      text: 'Revision 2 is DEPLOY_FAILED. The former revision still serves.',
    });
    expect(textOf('Unknown').text).toBe('Revision 2 is DEPLOY_FAILED.');
    expect(follow({}, { ...failed, revision_id: 'r1' })).toBe('done');
  });

  test('fails when a change without a revision was rolled back', () => {
    const condition = { type: 'Progressing', status: 'False', reason: 'RolledBack', message: 'Too slow.' };
    expect(follow({ conditions: [condition] })).toBe('failed');
    expect(follow({ conditions: [condition], remote_reconciled: false })).toBe('running');
  });

  test('is done when a deployment is switched off, and failed when it is deleted', () => {
    const off = { status: 'UNUSED', conditions: [], effective_resource_spec: { max_scale: 0 } };
    expect(follow(off)).toBe('done');
    expect(follow({ ...off, effective_resource_spec: { max_scale: 1 } })).toBe('running');
    expect(follow({ status: 'AWAITING_DELETE' })).toBe('failed');
  });

  test('a URL names the generation', () => {
    expect(followOf({ follow: '12' })).toEqual({ follow: '12' });
    expect(followOf({ follow: 'x' })).toEqual({});
    expect(followOf({})).toEqual({});
  });
});

describe('scale', () => {
  test('has the components that exist, and sends what was changed', () => {
    expect(scalesOf(ready).map(({ component }) => component)).toEqual(['api']);
    expect(scalePatch(ready, { min_scale: '1', max_scale: ' 5 ' })).toEqual({
      source_config: { resource_spec: { max_scale: 5 } },
    });
    expect(scalePatch(ready, { min_scale: '1' })).toEqual({});
    expect(scalePatch(ready, { min_scale: 'x' })).toEqual({
      source_config: { resource_spec: { min_scale: 'x' } },
    });
  });
});

describe('commands', () => {
  test('a change of the scale is berth scale, and another one a file', () => {
    const scale = { source_config: { resource_spec: { max_scale: 5 } } };
    expect(changeCommand(ready, scale).berth).toBe('berth scale shop --max 5');
    expect(changeCommand(ready, scale).request.headers).toEqual({ 'If-Match': '"3"' });
    const more = { ...scale, secrets: [{ name: 'TOKEN', value: 'hidden' }] };
    expect(changeCommand(ready, more).berth).toContain('berth deployments patch shop --file');
    expect(JSON.stringify(changeCommand(ready, more))).not.toContain('hidden');
  });

  test('a deletion has its options', () => {
    const options = { deletesTracingProject: true, keepsWorkloads: false, isForced: true };
    const { berth, request } = deleteCommand(ready, options);
    expect(berth).toBe('berth deployments delete shop --delete-tracing-project --force');
    expect(request.path).toBe('/v2/deployments/d1?delete_tracing_project=true&force=true');
  });
});

describe('plan', () => {
  const plan = {
    changes: [{ field: 'a', before: null, after: 1 }],
    pods_roll: true,
    rolls: ['api', 'queue', 'cache'],
    new_revision: true,
    builds: false,
    effects: ['The cache restarts.'],
    manifests: [],
  } as unknown as Plan;

  test('says first which pods are replaced', () => {
    expect(effectsOf(plan)).toEqual([
      'Pods are replaced: api, queue and cache.',
      'A new revision is created.',
      'The cache restarts.',
    ]);
    expect(effectsOf({ ...plan, pods_roll: false })[0]).toBe('No pods are replaced.');
    expect(effectsOf({ ...plan, runs_release: true })).toContain(
      'The release command runs before the rollout.',
    );
    expect(isEmpty({ ...plan, changes: [] })).toBe(true);
  });

  test('compares the objects with those without the change', () => {
    const object = (name: string, spec: object) => ({
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name },
      spec,
    });
    const before = [object('same', { a: 1, b: 2 }), object('other', {}), object('gone', {})];
    const after = [object('same', { b: 2, a: 1 }), object('other', { a: 1 }), object('new', {})];
    const shown = (objects: ReturnType<typeof objectsOf>) =>
      objects.map(({ name, change }) => `${name} ${change}`);
    expect(shown(objectsOf(after, before))).toEqual([
      'new new',
      'other changed',
      'gone removed',
      'same unchanged',
    ]);
    expect(shown(objectsOf(after, null))).toEqual(['same null', 'other null', 'new null']);
  });

  test('shows values of fields as text', () => {
    expect([null, 'a', 1, false, { a: 1 }].map(changeText)).toEqual([
      'not set',
      'a',
      '1',
      'false',
      '{"a":1}',
    ]);
  });
});

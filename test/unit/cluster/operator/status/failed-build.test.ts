import { describe, expect, test } from 'vitest';
import { buildName } from '../../../../../src/contract/resource/names.ts';
import { message, NAMESPACE, type Spec, settled, type World } from '../fixtures.ts';

// The simulated operator runs no builds, so each build fails with BuildsUnavailable.

const ID = '0197a000-0000-7000-8000-00000000abcd';
const revisionId = (number: number) => `0197a000-0000-7000-8000-00000000000${number}`;
const git = (more: object): Spec => ({ deploymentId: ID, source: 'git_host', revision: {}, ...more });
const runs = (number: number, more: object = {}): Spec =>
  git({ revision: { id: revisionId(number), number, image: `registry.example/web:${number}` }, ...more });
const build = (number: number) => ({
  revisionId: revisionId(number),
  number,
  repoUrl: 'https://git.example/shop/web',
  configPath: 'app.json',
  repository: 'registry.example/web',
  secretName: buildName({ namespace: NAMESPACE, name: 'web' }, revisionId(number)),
});
/** The spec that the hub writes when no revision can run. */
const nothing = git({ revision: { number: 1 }, suspend: true, recordGeneration: 2 });

const conditions = (world: World) =>
  ['Ready', 'ImageReady', 'Stalled', 'Reconciling'].map((type) => world.condition(type));
const FAILED = ['False BuildsUnavailable', 'False BuildsUnavailable', 'True BuildsUnavailable', 'absent'];

/** The build of revision 2 has failed while revision 1 serves, and the hub no longer requests the build. */
async function secondFailed(): Promise<World> {
  const world = await settled(runs(1, { recordGeneration: 1 }));
  world.change(runs(1, { build: build(2), recordGeneration: 2 }));
  await world.converge();
  world.change(runs(1, { recordGeneration: 3 }));
  await world.converge();
  return world;
}

describe('a failed build that the hub no longer requests', () => {
  test('remains the state of the resource when no revision can run', async () => {
    const world = await settled(
      git({ revision: { id: revisionId(1), number: 1 }, build: build(1), recordGeneration: 1 }),
    );
    expect(conditions(world)).toEqual(FAILED);
    world.change(nothing);
    await world.converge();
    expect(conditions(world)).toEqual(FAILED);
    expect(message(world, 'Stalled')).toContain('the build of revision 1 failed');
    expect(world.status).toMatchObject({ deploymentStatus: 'UNUSED', observedRecordGeneration: 2 });
    world.restart();
    expect(await world.reconcileOnce()).toEqual([]);
  });

  test('remains the state of the resource while the former revision serves', async () => {
    const world = await secondFailed();
    expect(conditions(world)).toEqual(FAILED);
    expect([world.condition('Serving'), world.condition('Progressing')]).toEqual([
      'True Available',
      'False RolloutComplete',
    ]);
    expect(world.status.observedRecordGeneration).toBe(3);
  });

  test('does not delay a change of source_config, and is not its result', async () => {
    const world = await secondFailed();
    world.change(runs(1, { recordGeneration: 4, components: { api: { scale: { min: 2, max: 2 } } } }));
    await world.converge();
    expect(world.replicas('api')).toBe(2);
    expect(world.status).toMatchObject({ deploymentStatus: 'READY', observedRecordGeneration: 4 });
    expect(conditions(world)).toEqual(FAILED);
  });

  test('is forgotten when a newer revision runs, or when another build is requested', async () => {
    const world = await secondFailed();
    world.change(runs(3, { recordGeneration: 4 }));
    await world.converge();
    expect(conditions(world)).toEqual(['True Converged', 'True ImageBuilt', 'absent', 'absent']);
    expect(world.status.build).toBeUndefined();
    const other = await secondFailed();
    other.change(runs(1, { build: build(3), recordGeneration: 4 }));
    await other.converge();
    expect(other.status.build?.number).toBe(3);
  });

  test('is forgotten when a user removes it from a resource applied by hand', async () => {
    const world = await settled({ ...runs(1), deploymentId: undefined, build: build(2) });
    world.change({ ...runs(1), deploymentId: undefined });
    await world.converge();
    expect(world.condition('Ready')).toBe('True Converged');
  });
});

describe('a git source without an image and without a build', () => {
  test.each([
    ['a revision that is not built', git({ revision: { id: revisionId(1), number: 1 } }), 'AwaitingBuild'],
    ['no revision, after its status was lost', nothing, 'NoRevision'],
    ['no revision', git({}), 'NoRevision'],
  ])('is Stalled with %s', async (_what, spec, reason) => {
    const world = await settled(spec);
    expect(conditions(world)).toEqual([`False ${reason}`, `False ${reason}`, `True ${reason}`, 'absent']);
    expect(world.status.observedRecordGeneration).toBe(spec['recordGeneration'] ?? 0);
  });

  test('is Ready when it is switched off and has an image', async () => {
    const world = await settled(runs(1, { suspend: true }));
    expect(world.condition('Ready')).toBe('True SwitchedOff');
  });
});

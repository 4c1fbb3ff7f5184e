import { expect, test } from 'vitest';
import { unbuiltStatus } from '../../../../../src/cluster/operator/builds/unbuilt.ts';
import { type BuildStatus, buildStatusSchema } from '../../../../../src/contract/resource/build.ts';
import { RESOURCE_ID, World } from '../fixtures.ts';
import { resourceWith } from './fixtures.ts';

test('fails a requested build for good if the operator runs no builds', () => {
  expect(unbuiltStatus(resourceWith({ revisionId: 'r2', number: 2 }))).toMatchObject({
    revisionId: 'r2',
    number: 2,
    phase: 'Failed',
    reason: 'BuildsUnavailable',
    message: expect.stringContaining('BERTH_HOSTING=cloud') as string,
  });
});

test('keeps the status of a build that has succeeded or failed before', () => {
  const last: BuildStatus = { revisionId: 'r1', number: 1, phase: 'Succeeded', image: 'r/x@sha256:1' };
  expect(unbuiltStatus(resourceWith({ status: last }))).toEqual(last);
  expect(unbuiltStatus(resourceWith({ status: last, revisionId: 'r2', number: 2 }))?.phase).toBe('Failed');
});

test('has no status without a requested build', () => {
  expect(unbuiltStatus(resourceWith({ spec: { build: undefined } }))).toBeUndefined();
});

test('a build status fits into the status of the resource, however long its message is', async () => {
  const { spec } = resourceWith({ revisionId: 'r1', number: 1 });
  const world = new World({ ...spec, revision: { ...spec.revision, image: 'web:1' } });
  const message = 'x'.repeat(10_000);
  world.cluster.edit(RESOURCE_ID, (object) => {
    object['status'] = { build: { revisionId: 'r1', number: 1, phase: 'Failed', message } };
  });
  await world.reconcileOnce();
  expect(buildStatusSchema.parse(world.status.build)).toMatchObject({
    phase: 'Failed',
    message: expect.stringMatching(/^x+…$/) as string,
  });
});

import { expect, test } from 'vitest';
import { parseHint } from '../../../../../src/hub/api/watch/change-hint.ts';
import {
  lineOf,
  MAX_PENDING,
  PendingChanges,
  RESET,
} from '../../../../../src/hub/api/watch/pending-changes.ts';
import { SeenChanges } from '../../../../../src/hub/api/watch/seen-changes.ts';

const TENANT = '0198a000-0000-7000-8000-00000000000a';
const DEPLOYMENT = '0198a000-0000-7000-8000-00000000000d';

const line = (deployment: number, generation = 1) => ({
  type: 'change' as const,
  key: `${deployment}_${generation}`,
  deployment_id: `deployment-${deployment}`,
  generation,
});

/** A stream that has sent its first reset. */
function started(): PendingChanges {
  const pending = new PendingChanges();
  pending.take();
  return pending;
}

test.each([
  [
    'a deployment',
    `${TENANT} ${DEPLOYMENT} 7 812`,
    { tenantId: TENANT, deploymentId: DEPLOYMENT, generation: 7, transaction: '812' },
  ],
  [
    'a deleted deployment',
    `${TENANT} ${DEPLOYMENT} - 812`,
    { tenantId: TENANT, deploymentId: DEPLOYMENT, generation: null, transaction: '812' },
  ],
  ['a tenant', `${TENANT} - - 812`, { tenantId: TENANT, deploymentId: null, generation: null }],
  ['a listener of the platform', '* all - 812', { tenantId: null, deploymentId: 'all' }],
])('reads the payload of a change of %s', (_of, payload, hint) => {
  expect(parseHint(payload)).toMatchObject(hint);
});

test.each(['', 'x', `${TENANT} ${DEPLOYMENT} 7`, `${TENANT} ${DEPLOYMENT} 7 812 x`, `${TENANT} d 7 812`])(
  'ignores the payload "%s" of another program or version',
  (payload) => {
    expect(parseHint(payload)).toBeNull();
  },
);

test('begins with a reset, which covers the changes before it', () => {
  const pending = new PendingChanges();
  pending.add(line(1));
  expect(pending.take()).toEqual([RESET]);
  expect(pending.isEmpty).toBe(true);
  expect(pending.take()).toEqual([]);
});

test('keeps only the latest change of a deployment', () => {
  const pending = started();
  for (const change of [line(1), line(2), line(1, 2)]) pending.add(change);
  expect(pending.take()).toEqual([line(1, 2), line(2)]);
});

test('replaces too many changes with one reset when the client does not read', () => {
  const pending = started();
  for (let deployment = 0; deployment <= MAX_PENDING; deployment += 1) pending.add(line(deployment));
  pending.add(line(0, 2));
  expect(pending.take()).toEqual([RESET]);
  pending.add(line(0, 3));
  expect(pending.take()).toEqual([line(0, 3)]);
});

test('a hint that concerns all deployments becomes a reset', () => {
  const hint = { tenantId: TENANT, deploymentId: 'all', generation: null, transaction: '1' } as const;
  expect(lineOf(hint)).toBeNull();
  const pending = started();
  pending.add(line(1));
  pending.add(null);
  expect(pending.take()).toEqual([RESET]);
});

test('forgets changes after two periods', () => {
  const seen = new SeenChanges();
  expect(seen.add('1')).toBe(true);
  seen.advance();
  expect(seen.add('1')).toBe(false);
  seen.advance();
  expect(seen.add('1')).toBe(true);
});

/** The remedy of a symptom follows the cause that its message names. */
import { describe, expect, test } from 'vitest';
import { AGAIN } from '../../../../src/domain/conditions/remedies.ts';
import { CAUSES_OF_REASONS } from '../../../../src/domain/conditions/remedy-causes.ts';
import { causeText } from '../../../../src/domain/conditions/remedy-for.ts';
import { symptomRemedyOf } from '../../../../src/domain/conditions/symptom-remedies.ts';
import { ROWS } from './cause-rows.ts';

function remedy(reason: string, message: string, component = 'api'): string {
  const found = symptomRemedyOf({ component, reason, message } as Parameters<typeof symptomRemedyOf>[0]);
  return found !== null && 'text' in found ? found.text : '';
}

test.each([
  [
    'Unschedulable',
    '0/3 nodes are available: 3 Insufficient cpu',
    /^Request less CPU \(source_config\.resource_spec\.cpu\)/,
  ],
  [
    'Unschedulable',
    '0/1 nodes are available: 1 node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode',
    /^Only one pod at a time can use the volume/,
  ],
  [
    'Unschedulable',
    '0/3 nodes are available: 3 node(s) had volume node affinity conflict',
    /^The volume in .* can be reached only from certain nodes/,
  ],
  ['ImagePullFailed', 'rpc error: manifest unknown', /no longer has this image/],
  ['ImagePullFailed', 'failed to authorize: 401 Unauthorized', /rejects the credentials/],
  ['ImagePullFailed', 'dial tcp: lookup registry.example: no such host', /cannot reach the registry/],
  ['ImagePullFailed', 'Back-off pulling image "web:1"', /^Check that the image still exists/],
])('follows the cause when %s has the message "%s"', (reason, message, expected) => {
  expect(remedy(reason, message)).toMatch(expected);
});

test('names the administrator of the platform when the image is of the database', () => {
  expect(remedy('ImagePullFailed', 'manifest unknown', 'database')).toContain(
    'administrator of the platform',
  );
});

const WITH_CAUSES = ['Unschedulable', 'QuotaExceeded', 'ReadinessFailed', 'MountFailed'] as const;

describe.each(WITH_CAUSES)('the remedy of running pods with the reason %s', (reason) => {
  const rows = ROWS.filter(([each]) => each === reason);

  test.each(rows)('is that of the cause, and not the general one: %s, "%s"', (_reason, message, says) => {
    const component = /^queue: /.test(message)
      ? 'queue'
      : /^the database /.test(message)
        ? 'database'
        : 'api';
    const found = remedy(reason, message, component);
    const cause = causeText({ reason, message, component }) ?? 'none';
    expect(found).toMatch(says);
    expect(found.startsWith(cause)).toBe(true);
    expect(found).not.toContain(remedy(reason, 'it is so', component));
    expect(found).not.toContain(AGAIN);
  });

  test('is tested for all of its causes', () => {
    const { causes = [], otherwise } = CAUSES_OF_REASONS[reason] ?? {};
    const untested = [...causes, ...(otherwise === undefined ? [] : [otherwise])].filter(
      ({ said }) => !rows.some(([, message]) => said.test(message)),
    );
    expect(untested.map(({ text }) => text)).toEqual([]);
  });
});

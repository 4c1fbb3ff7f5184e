/** The remedy of a symptom follows the cause that its message names. */
import { expect, test } from 'vitest';
import { symptomRemedyOf } from '../../../../src/domain/conditions/symptom-remedies.ts';

function remedy(reason: string, message: string, component = 'api'): string {
  const found = symptomRemedyOf({ component, reason, message } as Parameters<typeof symptomRemedyOf>[0]);
  return found !== null && 'text' in found ? found.text : '';
}

test.each([
  [
    'Unschedulable',
    '0/3 nodes are available: 3 Insufficient cpu',
    /^Ask the administrator of the cluster for more capacity/,
  ],
  [
    'Unschedulable',
    '0/1 nodes are available: 1 node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode',
    /waits for a volume/,
  ],
  [
    'Unschedulable',
    '0/3 nodes are available: 3 node(s) had volume node affinity conflict',
    /waits for a volume/,
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

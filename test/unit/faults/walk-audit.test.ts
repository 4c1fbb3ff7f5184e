import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { refusedRequests } from '../../faults/walk/audit.ts';

/** What is told of a log of these lines. */
async function told(lines: readonly string[]) {
  const folder = mkdtempSync(join(tmpdir(), 'berth-walk-audit-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'audit.log');
  writeFileSync(path, lines.join('\n'));
  return await refusedRequests(path, 'n');
}

const line = (code: number, more: object = {}) =>
  JSON.stringify({
    verb: 'patch',
    requestURI: '/apis/apps/v1/namespaces/n/deployments/walk-1-a-2-shop',
    user: { username: 'system:serviceaccount:berth-system:berth-operator' },
    objectRef: { namespace: 'n', name: 'walk-1-a-2-shop' },
    responseStatus: { code, message: 'no' },
    ...more,
  });
const refused = (answer: string) => ({
  object: 'walk-1-a-2-shop',
  message: `system:serviceaccount:berth-system:berth-operator patch /apis/apps/v1/namespaces/n/deployments/walk-1-a-2-shop: ${answer}`,
});

test('a refusal that another try hides stands in the audit log', async () => {
  const others = [
    line(422, { user: { username: 'admin' } }),
    line(422, { objectRef: { namespace: 'other' } }),
    line(404),
    line(409),
    line(200),
  ];
  expect(await told([...others, line(422), line(422), line(403).slice(0, -1)])).toEqual([refused('422 no')]);
});

test('an apply that the API server cannot type is refused with 500; what is in its own way is told by its message', async () => {
  const failed = (message: string) => line(500, { responseStatus: { code: 500, message } });
  const untyped =
    'failed to create typed patch object (n/shop; apps/v1, Kind=Deployment): .spec.template.spec.containers[name="app"].env: duplicate entries for key [name="A"]';
  const passing = [
    failed('context canceled'),
    failed('context deadline exceeded'),
    failed('etcdserver: leader changed'),
    failed('etcdserver: request timed out, possibly due to connection lost'),
    line(503),
    line(504),
  ];
  const tooLarge = 'etcdserver: request is too large';
  expect(await told([...passing, failed(untyped), failed(tooLarge), line(501)])).toEqual([
    refused(`500 ${untyped}`),
    refused(`500 ${tooLarge}`),
    refused('501 no'),
  ]);
});

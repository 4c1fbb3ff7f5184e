import { randomBytes } from 'node:crypto';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { uuidv7 } from '../../../../../src/domain/core/id.ts';
import type { ClusterReport } from '../../../../../src/domain/deployment/cluster-report.ts';
import type { Transaction } from '../../../../../src/hub/store/core/database.ts';
import type { ReportedDeployment } from '../../../../../src/hub/store/listeners/listener-report-rows.ts';
import { withoutSecrets } from '../../../../../src/hub/store/listeners/listener-report-secrets.ts';
import { createSecretBox, sealSecrets } from '../../../../../src/hub/store/secrets/secret-box.ts';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** Bytes in arrays. The second collection waits until the first one has freed its arrays. */
function bytesInArrays(): number {
  collect();
  collect();
  return process.memoryUsage().arrayBuffers;
}

const box = createSecretBox({ keys: [{ id: 'one', key: randomBytes(32) }], primary: 'one' });
const MIB = 1024 * 1024;

test('reports of many deployments with large secrets are masked one at a time, in little memory', async () => {
  const ids = Array.from({ length: 8 }, () => uuidv7());
  const value = (index: number) => `${index}`.padStart(6, 'v').concat('abcdefghij'.repeat(12_000));
  const sets = ids.map((id, index) => sealSecrets(box, 't', id, [{ name: 'A', value: value(index) }]));
  const transaction = { run: async () => sets } as unknown as Transaction;
  const deployments = ids.map((id) => ({
    id,
    facts: { revisions: [{ id }] },
  })) as unknown as ReportedDeployment[];
  const used: number[] = [];
  const reports = ids.map((deploymentId, index): ClusterReport => {
    return {
      kind: 'refused',
      deploymentId,
      generation: 1,
      reason: 'Refused',
      retryable: false,
      get message() {
        used.push(bytesInArrays());
        return `said ${value(index)}`;
      },
    };
  });
  const before = bytesInArrays();
  const masked = await withoutSecrets(transaction, box, deployments, reports);
  expect(masked.map((report) => 'message' in report && report.message)).toEqual(ids.map(() => 'said ***'));
  expect(used.length).toBeGreaterThanOrEqual(ids.length);
  // One automaton takes about 2 MiB.
  expect(Math.max(...used) - before).toBeLessThan(8 * MIB);
});

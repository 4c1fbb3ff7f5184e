/** Which heartbeats are a loop (O5). */
import { expect, test } from 'vitest';
import type { Transaction } from '../../../src/hub/store/core/database.ts';
import { choresOf } from '../../../src/hub/store/core/housekeeping.ts';
import {
  type Beat,
  faster,
  hubBeat,
  kubernetesBeat,
  sqlBeat,
  tablesWritten,
} from '../../faults/heartbeats.ts';
import type { HttpRequest } from '../../faults/proxies/http-traffic.ts';
import type { KubernetesRequest } from '../../faults/proxies/kubernetes-traffic.ts';
import type { SqlMessage } from '../../faults/proxies/postgres-traffic.ts';

const times = (count: number, beat: Beat): Beat[] => Array.from({ length: count }, () => beat);
const watch = kubernetesBeat({
  client: 'operator',
  verb: 'watch',
  path: '/api/v1/pods?watch=1&resourceVersion=7',
} as KubernetesRequest);
const renewal = kubernetesBeat({
  client: 'operator',
  verb: 'update',
  path: '/leases/berth',
} as KubernetesRequest);
const poll = hubBeat({
  client: 'listener',
  method: 'GET',
  path: '/v2/listeners/1/work?wait=30',
} as HttpRequest);
const [look] = sqlBeat({ client: 'api', sql: 'SELECT 1 FROM deployments' } as SqlMessage) as [Beat];

test('what goes by a clock of Berth is none, for five seconds and for sixty', () => {
  const inFive = [...times(2, watch), ...times(5, renewal), ...times(3, poll), ...times(10, look)];
  expect(faster(inFive, 5)).toEqual([]);
  const inSixty = [...times(4, watch), ...times(60, renewal), ...times(14, poll), ...times(120, look)];
  expect(faster(inSixty, 60)).toEqual([]);
});

test('watches opened, leases renewed, polls and looks without a pause are told by client and what is the same of them', () => {
  const loops = [...times(6, watch), ...times(16, renewal), ...times(16, poll), ...times(26, look)];
  expect(faster(loops, 5)).toEqual([
    '6 times within 5 s: operator: watch /api/v1/pods',
    '16 times within 5 s: operator: update /leases/berth',
    '16 times within 5 s: listener: GET /v2/listeners/1/work',
    '26 times within 5 s: api: SELECT 1 FROM deployments',
  ]);
});

test('borders of transactions are no statements of their own', () => {
  for (const sql of ['BEGIN', 'COMMIT', 'ROLLBACK', 'SET LOCAL x = 1'])
    expect(sqlBeat({ client: 'api', sql } as SqlMessage)).toEqual([]);
});

test('what the hub does every hour, whether there is something or not, writes nothing that a plan could wait for', async () => {
  const texts: string[] = [];
  const transaction = {
    query: async (text: string) => {
      texts.push(text);
      return [];
    },
  } as unknown as Transaction;
  for (const { portion } of choresOf(100)) await portion(transaction);
  expect(texts).toHaveLength(choresOf(100).length);
  expect(texts.flatMap(tablesWritten)).toEqual([]);
});

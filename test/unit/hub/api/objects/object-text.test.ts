import { expect, test } from 'vitest';
import type { ClusterObject } from '../../../../../src/domain/core/object-map.ts';
import {
  manifestWithoutMessages,
  maskMessages,
  parseManifest,
  WITHHELD,
  withoutMessages,
} from '../../../../../src/hub/api/objects/object-text.ts';

const mask = (text: string) => text.replaceAll('hunter22', '***');

const pod: ClusterObject = {
  kind: 'Pod',
  api_version: 'v1',
  name: 'hunter22',
  owner: null,
  component: null,
  revision_id: null,
  state: 'failed',
  message: 'Container app: password hunter22 rejected',
  created_at: null,
  pod: {
    phase: 'Running',
    containers: [
      {
        name: 'app',
        init: false,
        image: 'registry.example/hunter22:1',
        state: 'waiting',
        ready: false,
        reason: 'CrashLoopBackOff',
        message: 'hunter22',
        restarts: 1,
        requests: {},
        limits: {},
      },
    ],
  },
};

test('masks texts from the cluster, and keeps names and states', () => {
  const { name, message, pod: view } = maskMessages(pod, mask);
  expect([name, message]).toEqual(['hunter22', 'Container app: password *** rejected']);
  expect(view?.containers[0]).toMatchObject({ image: 'registry.example/***:1', message: '***' });
});

test.each(['', '[]', '"text"', 'null', '{"a":', `${'{"a":'.repeat(5_000)}1${'}'.repeat(5_000)}`])(
  'ignores a manifest that no listener of Berth sends: %#',
  (json) => {
    expect(parseManifest(json)).toBeNull();
  },
);

test('withholds messages of pods, and keeps their reasons', () => {
  const { message, pod: view } = withoutMessages(pod);
  expect(message).toBe(WITHHELD);
  expect(view?.containers[0]).toMatchObject({ reason: 'CrashLoopBackOff', message: WITHHELD });
  const status = { containerStatuses: [{ state: { terminated: { message: 'secret', exitCode: 1 } } }] };
  expect(manifestWithoutMessages({ spec: { message: 'kept' }, status })).toEqual({
    spec: { message: 'kept' },
    status: { containerStatuses: [{ state: { terminated: { message: WITHHELD, exitCode: 1 } } }] },
  });
});

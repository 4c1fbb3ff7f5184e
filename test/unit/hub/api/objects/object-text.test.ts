import { expect, test } from 'vitest';
import type { ClusterObject } from '../../../../../src/domain/core/object-map.ts';
import {
  manifestWithoutMessages,
  maskMessages,
  maskStatus,
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

/** A password that only the cluster knows, as the operator creates it for a database. */
const PRINTED = 'exit: PGPASSWORD=of-the-database, postgres://app:of-the-database@db/x';
const MASKED = 'exit: PGPASSWORD=***, postgres://***@db/x';

test('masks credentials of a known form in messages of the cluster, as the operator does', () => {
  const container = { ...pod.pod?.containers[0], message: PRINTED, image: 'registry.example/token:1' };
  const objects = [
    { ...pod, message: `Container app: ${PRINTED}`, pod: { ...pod.pod, containers: [container] } },
    { kind: 'ManagedDeployment', message: 'the pod uses secret_references: see its logs' },
  ];
  const shown = maskMessages({ objects, events: [{ reason: 'Unhealthy', message: PRINTED }] }, mask);
  expect(JSON.stringify(shown)).not.toContain('of-the-database');
  expect(shown).toMatchObject({
    objects: [
      {
        message: `Container app: ${MASKED}`,
        pod: { containers: [{ message: MASKED, image: container.image }] },
      },
      objects[1],
    ],
    events: [{ message: MASKED }],
  });
  expect(maskMessages({ message: WITHHELD }, mask)).toEqual({ message: WITHHELD });
});

test('masks credentials of a known form in the status of a manifest, and keeps its spec', () => {
  const terminated = { exitCode: 1, message: PRINTED };
  const status = { containerStatuses: [{ state: { terminated }, lastState: { terminated } }] };
  const spec = { containers: [{ image: 'registry.example/token:1', args: ['--password=in-the-spec'] }] };
  expect(maskStatus({ kind: 'Pod', spec, status }, mask)).toEqual({
    kind: 'Pod',
    spec,
    status: {
      containerStatuses: [
        {
          state: { terminated: { exitCode: 1, message: MASKED } },
          lastState: { terminated: { exitCode: 1, message: MASKED } },
        },
      ],
    },
  });
});

test('masks a known value completely when a credential of a known form is a part of it', () => {
  const whole = (text: string) => text.replaceAll('Server=db;Pwd=abc;Key=hunter22', '***');
  expect(maskMessages({ message: 'no: Server=db;Pwd=abc;Key=hunter22' }, whole)).toEqual({
    message: 'no: ***',
  });
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

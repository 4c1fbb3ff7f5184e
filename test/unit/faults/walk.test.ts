/** The parts of the walk that judge or choose. The plan itself fails when a field was never set, changed or removed. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { resourceSpecSchema } from '../../../src/domain/resource-spec/resource-spec.ts';
import { rejectedRequests } from '../../faults/walk/audit.ts';
import type { ClusterState } from '../../faults/walk/cluster-state.ts';
import { StepGenerator } from '../../faults/walk/generator.ts';
import { afterPatch, failingImage, type WalkRecord, type WalkStep } from '../../faults/walk/record.ts';
import type { WalkResult } from '../../faults/walk/result.ts';
import { howSettled } from '../../faults/walk/settle.ts';
import { schemaLeaves, valueLeaves } from '../../faults/walk/spec-paths.ts';
import { ObjectMemory, TemplateMemory } from '../../faults/walk/state-memory.ts';
import { missingParts } from '../../faults/walk/walk.ts';
import { deployment, stateOf } from './walk-fixtures.ts';

const LEAVES = new Set(schemaLeaves(resourceSpecSchema));
/** Sent, but rejected by the policy. */
const REJECTED_BY_POLICY = [
  ...['init_containers', 'sidecars'].flatMap((list) =>
    ['user', 'role'].map((member) => `${list}[].securityContext.seLinuxOptions.${member}`),
  ),
  ...['audience', 'expirationSeconds', 'path'].map(
    (member) => `volumes[].projected.sources[].serviceAccountToken.${member}`,
  ),
];

function walk(seed: number, lane: number, count: number) {
  const generator = new StepGenerator(seed, { lane, type: null, requiredFields: [] });
  const records: WalkRecord[] = [generator.first()];
  const steps: WalkStep[] = [];
  for (let step = 0; step < count; step += 1) {
    const record = records.at(-1) as WalkRecord;
    const next = generator.next({ record, revisions: step + 1, failed: failingImage(record) !== null });
    steps.push(next);
    const { call, move } = next;
    const after = call.kind === 'patch' && move !== 'rejected' ? afterPatch(record, call.body) : record;
    records.push(resourceSpecSchema.safeParse(after.spec).success ? after : record);
  }
  return { steps, records };
}

test('chooses the same steps for the same seed, and others for another seed or lane', () => {
  expect(walk(7, 1, 100)).toEqual(walk(7, 1, 100));
  expect(walk(7, 1, 100)).not.toEqual(walk(8, 1, 100));
  expect(walk(7, 1, 100)).not.toEqual(walk(7, 2, 100));
});

test('changes every leaf of resource_spec, and sends those that the policy rejects', () => {
  const walks = Array.from({ length: 8 }, (_, seed) => walk(seed, seed % 4, 300));
  const changed = walks.flatMap(({ records }) =>
    records.slice(1).flatMap((record, index) => {
      const before = valueLeaves(records[index]?.spec ?? {}, LEAVES);
      return [...valueLeaves(record.spec, LEAVES)].flatMap(([path, text]) =>
        before.get(path) === text ? [] : [path],
      );
    }),
  );
  const sent = walks.flatMap(({ steps }) =>
    steps.flatMap(({ call }) =>
      call.kind === 'patch'
        ? [...valueLeaves(call.body.source_config?.resource_spec ?? {}, LEAVES).keys()]
        : [],
    ),
  );
  expect(LEAVES.size).toBeGreaterThan(150);
  const met = new Set([...changed, ...sent.filter((path) => REJECTED_BY_POLICY.includes(path))]);
  expect([...LEAVES].filter((path) => !met.has(path))).toEqual([]);
});

test('reports a walk that missed a part of what it must cover', () => {
  const options = {
    seed: 1,
    steps: 600,
    lanes: 2,
    log: () => undefined,
    signal: new AbortController().signal,
  };
  const whole = {
    seed: 1,
    shortest: 300,
    fewestCompared: 5,
    unhealthy: 0,
    returned: 1,
    violations: [],
    missing: [],
  };
  const missed = (more: Partial<WalkResult>) =>
    missingParts({ ...whole, ...more } as unknown as WalkResult, options).length;
  expect(missed({})).toBe(0);
  for (const more of [{ missing: ['cpu was never removed'] }, { shortest: 299 }, { fewestCompared: 4 }])
    expect(missed(more)).toBe(1);
  for (const more of [{ unhealthy: 1 }, { returned: 0 }]) expect(missed(more)).toBe(1);
});

describe('the audit log', () => {
  const line = (code: number, message = 'no', more: object = {}) =>
    JSON.stringify({
      verb: 'patch',
      requestURI: '/apis/apps/v1/namespaces/n/deployments/shop',
      user: { username: 'system:serviceaccount:berth-system:berth-operator' },
      objectRef: { namespace: 'n', name: 'shop' },
      responseStatus: { code, message },
      ...more,
    });
  async function rejected(lines: readonly string[]) {
    const folder = mkdtempSync(join(tmpdir(), 'berth-walk-audit-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    writeFileSync(join(folder, 'audit.log'), lines.join('\n'));
    const found = await rejectedRequests(join(folder, 'audit.log'), 'n');
    return found.map(({ message }) => message.replace(/^.*deployments\/shop: /, ''));
  }

  test('shows a rejection that a retry hides, of this namespace and these roles only', async () => {
    const others = [
      line(422, 'no', { user: { username: 'admin' } }),
      line(422, 'no', { objectRef: { namespace: 'other' } }),
      ...[200, 404, 409, 503, 504].map((code) => line(code)),
    ];
    expect(await rejected([...others, line(422), line(422), line(403).slice(0, -1)])).toEqual(['422 no']);
  });

  test('shows a 500 unless the caller disconnected or etcd was slow', async () => {
    const passing = ['context canceled', 'etcdserver: leader changed', 'etcdserver: request timed out'];
    const failing = ['failed to create typed patch object (n/shop)', 'etcdserver: request is too large'];
    expect(await rejected([...passing, ...failing].map((message) => line(500, message)))).toEqual(
      failing.map((message) => `500 ${message}`),
    );
  });
});

describe('a deployment', () => {
  const condition = (type: string, status: string, reason: string) => ({ type, status, reason, message: '' });
  const FAILED = [condition('Progressing', 'False', 'RolloutFailed'), condition('Ready', 'True', 'Serving')];
  const record = (image: string, more: object = {}) =>
    ({
      id: 'd',
      status: 'DEGRADED',
      remote_reconciled: true,
      latest_revision_id: 'b',
      active_revision_id: 'a',
      conditions: FAILED,
      secrets: [],
      source_config: { resource_spec: {}, custom_url: null },
      source_revision_config: { image_uri: image },
      ...more,
    }) as never;
  const revision = (status: string) => ({ id: 'b', number: 2, status, reason: null, message: null }) as never;
  const resource = { status: { conditions: FAILED } } as never;
  const bad = record('registry.test/app:fail-crash-loop');
  const good = record('registry.test/app:1');

  test('has settled as failed only when its own record cannot start', () => {
    const failed = revision('DEPLOY_FAILED');
    expect(howSettled(bad, failed, resource, 'b')).toBe('failed');
    expect(howSettled(good, failed, resource, 'b')).toBe('failed');
    expect(howSettled(good, failed, resource, 'a')).toBeNull();
    expect(howSettled(good, failed, resource, null)).toBeNull();
    expect(howSettled(good, revision('DEPLOYED'), resource, 'b')).toBeNull();
  });

  test('has settled as off or ready when its last revision did not fail', () => {
    const off = record('registry.test/app:1', {
      status: 'UNUSED',
      conditions: [condition('Ready', 'True', 'SwitchedOff')],
      source_config: { resource_spec: { max_scale: 0 }, custom_url: null },
    });
    expect(howSettled(off, revision('DEPLOY_FAILED'), resource, null)).toBeNull();
    expect(howSettled(off, revision('DEPLOYED'), resource, null)).toBe('off');
    const ready = {
      status: 'READY',
      active_revision_id: 'b',
      conditions: [condition('Ready', 'True', 'Converged')],
    };
    expect(howSettled(record('registry.test/app:1', ready), revision('DEPLOYED'), resource, 'b')).toBe(
      'ready',
    );
  });
});

describe('a record that returns', () => {
  const same = deployment('id-0001', null);

  test('must have the earlier templates', () => {
    const memory = new TemplateMemory();
    expect(memory.issues(stateOf('id-0001'), same)).toEqual([]);
    expect(memory.issues(stateOf('id-0001'), same)).toEqual([]);
    const issues = memory.issues(stateOf('id-0001', { cpu: '2' }), same);
    expect(issues.map(({ diff }) => diff)).toEqual([['<app>-api.spec.cpu: walked "2", direct "1"']]);
  });

  test('must have the earlier objects, Deployments and environment', () => {
    const memory = new ObjectMemory();
    const service = (port: number, metadata: object = {}) => ({
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'shop-0001-api', ...metadata },
      spec: { ports: [{ port }], clusterIP: '10.0.0.1' },
    });
    const having = (more: Parameters<typeof stateOf>[1], ...services: object[]) =>
      ({ ...stateOf('id-0001', more), Service: services }) as unknown as ClusterState;
    const differences = (state: ClusterState) => memory.differences(state, same).length;
    memory.remember(having({ replicas: 2 }, service(80)), same);
    expect(differences(having({ replicas: 2 }, service(80, { uid: 'another' })))).toBe(0);
    for (const state of [
      having({ replicas: 2 }, service(81)),
      having({ replicas: 2 }),
      having({ replicas: 2 }, service(80, { deletionTimestamp: 'now' })),
      having({ replicas: 1 }, service(80)),
      having({ replicas: 2, value: 'old' }, service(80)),
    ])
      expect(differences(state)).toBe(1);
    memory.remember(having({ replicas: 2 }, service(80)), same);
    expect(memory.returned).toBe(1);
  });
});

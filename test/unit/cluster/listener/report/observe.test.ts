import { describe, expect, it } from 'vitest';
import {
  goneItem,
  inventoryItem,
  observedReport,
} from '../../../../../src/cluster/listener/report/observe.ts';
import { hasOwnLabels, isEdited, type Resource } from '../../../../../src/cluster/listener/resource-view.ts';
import { asBefore, reportSchema } from '../../../../../src/contract/protocol/report-protocol.ts';
import { contentHash } from '../../../../../src/domain/core/hash.ts';
import { ID, NAME, NAMESPACE, specOf, workSpec } from '../fixtures.ts';

const { deploymentId, tenantId } = specOf(4);
const OWN_LABELS = {
  'berth.dev/deployment-id': deploymentId ?? '',
  ...(tenantId === undefined ? {} : { 'berth.dev/tenant-id': tenantId }),
  'app.kubernetes.io/managed-by': 'berth',
};

function resource(more: { spec?: object; status?: Resource['status']; metadata?: object } = {}): Resource {
  return {
    apiVersion: 'berth.dev/v1alpha1',
    kind: 'ManagedDeployment',
    metadata: { name: NAME, namespace: NAMESPACE, uid: 'u', labels: OWN_LABELS, ...more.metadata },
    spec: specOf(4, more.spec),
    ...(more.status === undefined ? {} : { status: more.status }),
  };
}
const revision = { id: 'r2', number: 2, templates: 't' };
/** The source of a failure in a report. Hubs of the previous version read `culprit`. */
const sent = (source: object) => ({ failure_source: source, culprit: source });

describe('the credentials of a build', () => {
  const build = {
    revisionId: 'r2',
    number: 2,
    repoUrl: 'https://git.example/a',
    configPath: 'berth.yaml',
    repository: 'r.example/a',
    secretName: 's',
  };
  const hashOf = (phase: 'Waiting' | 'Running' | 'Failed', reason?: string, revisionId = 'r2') =>
    inventoryItem(
      resource({
        spec: { build },
        status: { build: { revisionId, number: 2, phase, ...(reason === undefined ? {} : { reason }) } },
      }),
    )?.spec_hash;

  it('change the hash of the inventory item when they may be lost', () => {
    const ordinary = hashOf('Running');
    expect(hashOf('Waiting', 'BuildLost')).not.toBe(ordinary);
    expect(hashOf('Running', 'BuildLost')).not.toBe(ordinary);
    expect(hashOf('Failed', 'BuildLost')).toBe(ordinary);
    expect(hashOf('Waiting', 'RegistryUnavailable')).toBe(ordinary);
    expect(hashOf('Waiting', 'BuildLost', 'r1')).toBe(ordinary);
  });
});

describe('a resource that another account wrote', () => {
  it.each([2 ** 62, 1.5, 'x', undefined])('is reported with generation 0 instead of %s', (generation) => {
    const odd = { ...resource(), spec: { ...specOf(4), recordGeneration: generation } } as Resource;
    expect(inventoryItem(odd)?.generation).toBe(0);
  });

  it('does not belong to the hub when it has no spec', () => {
    const bare = { ...resource(), spec: undefined } as unknown as Resource;
    expect([inventoryItem(bare), goneItem(bare), observedReport(bare)]).toEqual([null, null, null]);
    expect(hasOwnLabels(bare)).toBe(false);
  });
});

describe('the report of a status', () => {
  it('contains everything that the hub needs', () => {
    const status = {
      observedGeneration: 9,
      observedRecordGeneration: 4,
      deploymentStatus: 'READY',
      suspended: false,
      conditions: [],
      activeRevision: { ...revision, id: 'r1', number: 1, image: 'i' },
      rollout: { ...revision, startTime: 'now' },
      failedRevision: { id: 'r2', number: 2, reason: 'CrashLoop', message: 'why', recordGeneration: 4 },
      url: 'https://x',
      routes: { recordGeneration: 4, hosts: ['x', 'y'] },
    };
    expect(observedReport(resource({ status }))).toEqual({
      kind: 'observed',
      deployment_id: ID,
      name: NAME,
      namespace: NAMESPACE,
      observed_spec_generation: 4,
      conditions: [],
      off: false,
      url: 'https://x',
      routes: { generation: 4, hosts: ['x', 'y'] },
      active_revision: { id: 'r1', number: 1 },
      rollout_revision: { id: 'r2', number: 2 },
      failed_revision: { id: 'r2', number: 2, reason: 'CrashLoop', message: 'why' },
    });
  });

  it.each([
    ['10Gi', 10],
    ['10G', 10],
    ['1.5Ti', 1536],
    ['nonsense', undefined],
  ])('contains the requested size %s of a volume in whole Gi if it is valid', (requested, gi) => {
    const report = observedReport(
      resource({ status: { observedRecordGeneration: 4, volume: { requested } } }),
    );
    expect(report).toMatchObject(gi === undefined ? {} : { volume_gi: gi });
    expect(report !== null && 'volume_gi' in report).toBe(gi !== undefined);
  });

  it.each([
    ['20Gi', '5Gi', 5],
    ['20Gi', '5368709120', 5],
    ['20Gi', '5368709121', 6],
    ['20Gi', '5G', 5],
    ['5Gi', '8Gi', 8],
    ['0', '0', 0],
    ['5Gi', '900Ei', 2 ** 31 - 1],
  ])(
    'contains the capacity in whole Gi of a volume whose claim requests %s and has %s',
    (requested, capacity, gi) => {
      const status = { observedRecordGeneration: 4, volume: { requested, capacity } };
      expect(observedReport(resource({ status }))).toMatchObject({ volume_gi: gi });
    },
  );

  const status = { observedRecordGeneration: 4 };
  it.each([
    ['a resource without a status', resource()],
    ['a resource that the operator has not observed', resource({ status: { conditions: [] } })],
    ['a resource without a deployment id', resource({ status, spec: { deploymentId: undefined } })],
    ['a resource with an id that no hub issued', resource({ status, spec: { deploymentId: 'by-hand' } })],
  ])('is null for %s', (_name, object) => {
    expect(observedReport(object)).toBeNull();
  });

  it('does not present former conditions of a resource that is being deleted as current', () => {
    const seen = (type: string, more: object = {}) => ({
      type,
      status: 'True',
      reason: 'Available',
      message: 'there',
      observedGeneration: 3,
      lastTransitionTime: 'before',
      ...more,
    });
    const metadata = { deletionTimestamp: 'now', finalizers: ['example.com/hold'] };
    const of = (...conditions: object[]) =>
      observedReport(resource({ status: { ...status, url: 'https://x', conditions }, metadata } as never));
    const report = of(seen('Ready'), seen('Serving'));
    expect(report).toMatchObject({ url: null });
    expect(report?.conditions).toMatchObject([
      {
        type: 'Ready',
        status: 'False',
        reason: 'FinalizerBlocks',
        message: expect.stringContaining('example.com/hold'),
      },
      { type: 'Serving', status: 'Unknown', reason: 'BeingDeleted' },
    ]);
    // The operator knows more.
    const told = [
      seen('Ready', { status: 'False', reason: 'FinalizerBlocks', message: 'Service x is held' }),
      seen('Serving', { status: 'Unknown', reason: 'BeingDeleted' }),
    ];
    expect(of(...told)?.conditions).toEqual(told);
  });

  it('contains the source of a failure', () => {
    const pod = { component: 'api', kind: 'Pod', object: 'web-1', container: 'app' };
    const failureSource = { ...pod, containerKind: 'app', exitCode: 1 } as const;
    const former = { ...pod, container_kind: 'app', exit_code: 1 };
    const failedRevision = {
      id: 'r2',
      number: 2,
      reason: 'CrashLoop',
      message: 'why',
      templates: 't',
      failureSource,
    };
    const report = observedReport(resource({ status: { ...status, failedRevision } }));
    expect(report?.failed_revision).toEqual({
      id: 'r2',
      number: 2,
      reason: 'CrashLoop',
      message: 'why',
      ...sent(former),
    });
    const { failureSource: _, ...failure } = failedRevision;
    for (const source of [{ culprit: former }, { failureSource: former }]) {
      const stored = { observedSpecGeneration: 4, failedRevision: { ...failure, ...source } };
      expect(observedReport(resource({ status: stored as Resource['status'] }))).toEqual(report);
    }
  });

  it('does not count a failed change in place as a failure of the running revision, and contains its source', () => {
    const failure = { reason: 'CrashLoop', message: 'why', failureSource: { kind: 'Pod', object: 'web-1' } };
    const failedRevision = { id: 'r1', number: 1, templates: 't2', ...failure };
    const activeRevision = { id: 'r1', number: 1, templates: 't' };
    const report = observedReport(resource({ status: { ...status, activeRevision, failedRevision } }));
    expect([report?.active_revision, report?.failed_revision]).toEqual([{ id: 'r1', number: 1 }, null]);
    const { failureSource, ...rest } = failure;
    expect(report?.in_place_failure).toEqual({ ...rest, ...sent(failureSource) });
    // An older hub does not know the field.
    expect(observedReport(resource({ status: { ...status, activeRevision } }))).not.toHaveProperty(
      'in_place_failure',
    );
  });

  it('lists symptoms of running pods, and marks the quiet ones', () => {
    const source = { object: 'p' };
    const plain = { component: 'api', reason: 'CrashLoop', message: 'm' };
    const symptom = { ...plain, failureSource: source };
    const since = '2026-01-01T00:00:00Z';
    const symptoms = [
      { ...symptom, firstObservedTime: since },
      { ...symptom, component: 'queue', firstObservedTime: since, lastObservedTime: since },
    ];
    const report = observedReport(resource({ status: { ...status, symptoms } }));
    expect(report?.symptoms).toEqual([
      { ...plain, ...sent(source), since },
      { ...plain, component: 'queue', ...sent(source), since, quiet: true },
    ]);
    if (report === null) throw new Error('there is no report');
    expect(reportSchema.safeParse({ ...report, deployment_id: ID }).success).toBe(true);
    // An older hub does not know the field.
    expect(observedReport(resource({ status }))).not.toHaveProperty('symptoms');
    expect(asBefore(report)).not.toHaveProperty('symptoms');
  });

  it('contains no active revision that has no id', () => {
    const report = observedReport(
      resource({ status: { ...status, activeRevision: { number: 1, templates: 't' } } }),
    );
    expect(report?.active_revision).toBeNull();
  });
});

describe('the inventory item', () => {
  it('shows that the spec was edited when its hash differs from the annotation', () => {
    const applied = resource({
      metadata: { annotations: { 'berth.dev/spec-hash': contentHash(workSpec(specOf(4))) } },
    });
    expect(isEdited(applied)).toBe(false);
    const edited = { ...applied, spec: { ...applied.spec, suspend: true } };
    expect(isEdited(edited)).toBe(true);
    expect(inventoryItem(edited)).toMatchObject({
      uid: 'u',
      generation: 4,
      spec_hash: contentHash(workSpec(edited.spec)),
      applied_hash: contentHash(workSpec(applied.spec)),
    });
  });

  it('has another hash when the labels were edited', () => {
    const applied = resource({
      metadata: { annotations: { 'berth.dev/spec-hash': contentHash(workSpec(specOf(4))) } },
    });
    const { 'berth.dev/deployment-id': _gone, ...labels } = OWN_LABELS;
    const edited = { ...applied, metadata: { ...applied.metadata, labels } };
    expect(inventoryItem(edited)?.spec_hash).not.toBe(inventoryItem(applied)?.spec_hash);
    // A listener still wrote its generation, so a restored hub must catch up with it.
    expect(inventoryItem(edited)?.applied_hash).toBe(inventoryItem(edited)?.spec_hash);
    const both = { ...edited, spec: { ...edited.spec, suspend: true } };
    expect(inventoryItem(both)?.applied_hash).toBe(contentHash(workSpec(specOf(4))));
  });

  it('shows a spec that is nested too deeply for a hash as edited', () => {
    let nested: object = {};
    for (let level = 0; level < 20_000; level += 1) nested = { nested };
    const applied = resource({
      metadata: { annotations: { 'berth.dev/spec-hash': contentHash(workSpec(specOf(4))) } },
    });
    const odd = { ...applied, spec: { ...applied.spec, nested } } as Resource;
    expect(isEdited(odd)).toBe(true);
    expect(inventoryItem(odd)?.spec_hash).toBe('too-deep');
  });

  it('accepts any annotation', () => {
    const odd = resource({ metadata: { annotations: { 'berth.dev/spec-hash': 'x'.repeat(500) } } });
    expect(inventoryItem(odd)?.applied_hash).toHaveLength(64);
  });

  it('has no uid for a deleted resource', () => {
    expect(goneItem(resource())?.uid).toBeNull();
    expect(goneItem(resource({ spec: { deploymentId: undefined } }))).toBeNull();
  });
});

import { describe, expect, test } from 'vitest';
import {
  RESOURCE_SPEC_FIELDS,
  type ResourceSpecField,
  resourceSpecSchema,
} from '../../../src/domain/resource-spec/resource-spec.ts';
import { Coverage } from '../../faults/walk/coverage.ts';
import { StepGenerator } from '../../faults/walk/generator.ts';
import { createRandom } from '../../faults/walk/random.ts';
import { afterPatch, failingImage, type WalkRecord, type WalkStep } from '../../faults/walk/record.ts';
import { schemaLeaves, valueLeaves } from '../../faults/walk/spec-paths.ts';

const LEAVES = new Set(schemaLeaves(resourceSpecSchema));

/** Never stored: the policy refuses them. A step sends them nevertheless. */
const REFUSED_BY_POLICY = [
  ...['init_containers', 'sidecars'].flatMap((list) =>
    ['user', 'role'].map((member) => `${list}[].securityContext.seLinuxOptions.${member}`),
  ),
  'volumes[].projected.sources[].serviceAccountToken.audience',
  'volumes[].projected.sources[].serviceAccountToken.expirationSeconds',
  'volumes[].projected.sources[].serviceAccountToken.path',
];

/** What the API would make of a step, as far as shape and single fields go. */
function taken(record: WalkRecord, { call, move }: WalkStep): WalkRecord {
  if (call.kind !== 'patch' || move === 'refused') return record;
  const next = afterPatch(record, call.body);
  return resourceSpecSchema.safeParse(next.spec).success ? next : record;
}

interface Walked {
  readonly steps: readonly WalkStep[];
  readonly records: readonly WalkRecord[];
}

function walk(seed: number, lane: number, count: number, owes: readonly ResourceSpecField[] = []): Walked {
  const generator = new StepGenerator(seed, { lane, type: null, owes });
  const records: WalkRecord[] = [generator.first()];
  const steps: WalkStep[] = [];
  for (let step = 0; step < count; step += 1) {
    const record = records.at(-1) as WalkRecord;
    const next = generator.next({ record, revisions: step + 1, failed: failingImage(record) !== null });
    steps.push(next);
    records.push(taken(record, next));
  }
  return { steps, records };
}

/** Some walks, made once. */
const walks = Array.from({ length: 8 }, (_, seed) => walk(seed, seed % 4, 300));

describe('the steps of a walk', () => {
  test('are the same for the same seed, and others for another', () => {
    expect(walk(7, 1, 100)).toEqual(walk(7, 1, 100));
    expect(walk(7, 1, 100)).not.toEqual(walk(8, 1, 100));
    expect(walk(7, 1, 100)).not.toEqual(walk(7, 2, 100));
  });

  test('change every leaf of resource_spec; those that the policy refuses are sent', () => {
    const changed = new Set<string>();
    for (const { records } of walks) {
      for (const [index, record] of records.entries()) {
        const before = valueLeaves(records[index - 1]?.spec ?? {}, LEAVES);
        for (const [path, text] of valueLeaves(record.spec, LEAVES)) {
          if (before.get(path) !== text) changed.add(path);
        }
      }
    }
    const never = [...LEAVES].filter((path) => !changed.has(path) && !REFUSED_BY_POLICY.includes(path));
    expect(never).toEqual([]);
    const sent = new Set(
      walks.flatMap(({ steps }) =>
        steps.flatMap(({ call }) =>
          call.kind === 'patch'
            ? [...valueLeaves(call.body.source_config?.resource_spec ?? {}, LEAVES).keys()]
            : [],
        ),
      ),
    );
    expect(REFUSED_BY_POLICY.filter((path) => !sent.has(path))).toEqual([]);
  });

  test('remove every field of resource_spec again, but for the size of the volume', () => {
    const removed = new Set<string>();
    for (const { records } of walks) {
      for (const [index, { spec }] of records.entries()) {
        const before = Object.keys(records[index - 1]?.spec ?? {});
        for (const field of before.filter((name) => !(name in spec))) removed.add(field);
      }
    }
    const never = Object.keys(resourceSpecSchema.shape).filter((field) => !removed.has(field));
    expect(never).toEqual(['db_storage_gi']);
  });

  test('set, change and remove every field that a lane owes, the size of the volume but for the last', () => {
    const lanes = [0, 1, 2, 3].map((lane) =>
      walk(
        1,
        lane,
        125,
        RESOURCE_SPEC_FIELDS.filter((_, index) => index % 4 === lane),
      ),
    );
    const coverage = new Coverage();
    for (const { steps, records } of lanes)
      for (const [index, step] of steps.entries()) {
        coverage.sent(step);
        coverage.taken(step, records[index] as WalkRecord, records[index + 1] as WalkRecord);
      }
    expect(coverage.missing()).toEqual([]);
  });

  test('are of every kind: changes, reverts, revisions, secrets, URLs, tags, both at once, refusals, bursts', () => {
    const said = walks.flatMap(({ steps }) => steps);
    const kinds = new Set(said.map(({ call }) => call.kind));
    expect([...kinds].sort()).toEqual(['new-revision', 'patch', 'redeploy', 'rollback', 'tags']);
    for (const what of [
      'revert',
      'image',
      'secret',
      'custom_url',
      'to be refused',
      'back to before',
      'mend',
    ]) {
      expect(said.some((step) => step.what.startsWith(what))).toBe(true);
    }
    expect(said.some(({ wait }) => !wait)).toBe(true);
  });
});

test('a failure is ended by the image that fails going, and by a revision after that', () => {
  const sidecars = [
    { name: 'failing', image: 'registry.test/s:fail-invalid-image' },
    { name: 'kept', image: 's:1' },
  ];
  const generator = new StepGenerator(1, { lane: 0, type: null });
  const mended = (record: WalkRecord) => {
    const { call } = generator.mend({ record, revisions: 2, failed: true });
    return call.kind === 'patch' ? afterPatch(record, call.body) : call.kind;
  };
  const record: WalkRecord = { ...generator.first(), spec: { sidecars } };
  for (const image of ['registry.test/app:1', 'registry.test/app:fail-crash-loop']) {
    const after = mended({ ...record, image }) as WalkRecord;
    expect(failingImage(after)).toBeNull();
    expect(after.spec.sidecars).toEqual([sidecars[1]]);
    expect(mended(after)).toBe('new-revision');
  }
});

test('what was walked is told by kind of move, by field, by end and by what makes a revision', () => {
  const before: WalkRecord = { spec: { cpu: 1 }, image: 'a:1', secrets: [], customUrl: null };
  const after: WalkRecord = { ...before, spec: { cpu: 2, labels: { a: 'b' } }, image: 'a:2' };
  const step: WalkStep = { move: 'spec and image', what: '', wait: true, call: { kind: 'patch', body: {} } };
  const body = { source_revision_config: { repo_ref: 'main' } };
  const coverage = new Coverage();
  coverage.sent(step);
  coverage.taken(step, before, after);
  coverage.refused({ ...step, call: { kind: 'patch', body } });
  const [moves, fields, revisions] = coverage.figures();
  expect(moves).toBe('1 kinds of moves: spec and image 1');
  expect(fields).toContain('1 set, 1 changed, 0 removed');
  expect(fields).toContain('2 changed, 0 sent and refused');
  expect(revisions).toBe('revisions: image_uri changed 1, repo_ref refused 1');
  expect(coverage.missing()).toContain('cpu was never set');
  expect(coverage.missing()).not.toContain('labels was never set');
  expect(coverage.missing()).not.toContain('db_storage_gi was never removed');
});

test('leaves of a schema are the ends of its objects and lists, and its maps', () => {
  expect(LEAVES.has('cpu')).toBe(true);
  expect(LEAVES.has('labels{}')).toBe(true);
  expect(LEAVES.has('sidecars[].securityContext.capabilities.add[]')).toBe(true);
  expect(LEAVES.has('init_containers[].env[].valueFrom.resourceFieldRef.divisor')).toBe(true);
  expect(LEAVES.size).toBeGreaterThan(150);
});

test('leaves of a value carry what is there', () => {
  const value = { cpu: 1, labels: { a: 'b' }, sidecars: [{ name: 'x' }, { name: 'y' }], memory_mb: null };
  expect([...valueLeaves(value, LEAVES)]).toEqual([
    ['cpu', '1;'],
    ['labels{}', '{"a":"b"};'],
    ['sidecars[].name', '"x";"y";'],
  ]);
});

test('random numbers come again with their seed and spread over their range', () => {
  const draw = (seed: number) => {
    const random = createRandom(seed);
    return Array.from({ length: 1000 }, () => random.below(10));
  };
  expect(draw(3)).toEqual(draw(3));
  expect(new Set(draw(3)).size).toBe(10);
  expect(() => createRandom(1).pick([])).toThrow('nothing to pick');
});

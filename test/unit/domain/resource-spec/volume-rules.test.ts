import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import type { FormerSize } from '../../../../src/domain/resource-spec/former-sizes.ts';
import type { ResourceSpec } from '../../../../src/domain/resource-spec/resource-spec.ts';
import { formerSizesAfter, specChangeIssues } from '../../../../src/domain/resource-spec/volume-rules.ts';

describe('specChangeIssues', () => {
  it.each<[string, ResourceSpec, ResourceSpec, boolean]>([
    ['the same', { db_storage_gi: 20 }, { db_storage_gi: 20 }, true],
    ['growth', { db_storage_gi: 20 }, { db_storage_gi: 21 }, true],
    ['growth from the default', {}, { db_storage_gi: 11 }, true],
    ['less', { db_storage_gi: 20 }, { db_storage_gi: 19 }, false],
    ['less than the default', {}, { db_storage_gi: 9 }, false],
    ['unset again', { db_storage_gi: 20 }, {}, false],
  ])('decides about a new size of the database volume: %s', (_, before, after, allowed) =>
    expect(specChangeIssues(before, after, 'dev').map(({ loc }) => loc)).toEqual(
      allowed ? [] : [['db_storage_gi']],
    ),
  );

  it.each<[string, ResourceSpec, number, boolean]>([
    ['to what the volume has', { db_storage_gi: 20 }, 20, true],
    ['below what the volume has', { db_storage_gi: 19 }, 20, false],
    ['unset again, to the default', {}, 10, true],
    ['a volume that is larger than was asked for', { db_storage_gi: 39 }, 60, false],
  ])('decides about the revert of an expansion that was not done: %s', (_, after, volumeGi, allowed) => {
    const issues = specChangeIssues({ db_storage_gi: 40 }, after, 'dev', { capacityGi: volumeGi });
    expect(issues.map(({ type }) => type)).toEqual(allowed ? [] : ['storage_shrinks']);
  });

  it.each<[string, ResourceSpec, number, boolean]>([
    ['no volume', { db_storage_gi: 1 }, 0, true],
    ['no volume, unset again', {}, 0, true],
    ['the volume that is kept', { db_storage_gi: 20 }, 20, true],
    ['less than is kept', { db_storage_gi: 19 }, 20, false],
  ])(
    'uses the kept volume as the minimum while the tenant has its own database: %s',
    (_, after, keptGi, allowed) => {
      const issues = specChangeIssues({ db_storage_gi: 1024 }, after, 'dev', { keptGi });
      expect(issues.map(({ type }) => type)).toEqual(allowed ? [] : ['storage_shrinks']);
    },
  );

  it.each<[string, number, Parameters<typeof specChangeIssues>[3], string | null]>([
    ['at the capacity', 5, { capacityGi: 5 }, null],
    ['between capacity and what was asked for', 19, { capacityGi: 5 }, null],
    [
      'below the capacity',
      4,
      { capacityGi: 5 },
      'must not be less than 5, because a volume cannot shrink, but 4 was requested; the capacity of the volume is 5 Gi',
    ],
    ['a volume that does not exist', 1, { capacityGi: 0 }, null],
    [
      'no capacity is known',
      39,
      {},
      'must not be less than 40, because a volume cannot shrink, but 39 was requested',
    ],
    ['an earlier listener reports none of an expansion', 1, { expanding: true }, null],
    [
      'the capacity counts where it is reported',
      4,
      { expanding: true, capacityGi: 5 },
      'must not be less than 5,',
    ],
    ['kept while the database is the tenant’s own', 5, { keptGi: 40, capacityGi: 5 }, null],
    ['less than is kept', 4, { keptGi: 40, capacityGi: 5 }, 'capacity of the volume is 5 Gi'],
    [
      'larger than was asked for',
      39,
      { capacityGi: 60 },
      'must not be less than 40, because a volume cannot shrink, but 39 was requested; the capacity of the volume is 60 Gi',
    ],
  ])('decides about a size during an unfinished expansion: %s', (_, wanted, known, message) => {
    const issues = specChangeIssues({ db_storage_gi: 40 }, { db_storage_gi: wanted }, 'dev', known);
    expect(issues.map(({ msg }) => msg)).toEqual(message === null ? [] : [expect.stringContaining(message)]);
  });
});

/** A deployment of the hub, its volume, and reports that come when the test says so. */
class Volume {
  generation = 1;
  size: number;
  former: readonly FormerSize[] = [];
  observed = 0;
  reported: number | null = null;

  constructor(size: number) {
    this.size = size;
  }

  known() {
    const { reported: capacityGi, former, observed: observedGeneration } = this;
    return { capacityGi, former, observedGeneration };
  }

  accepts(size: number): boolean {
    return (
      specChangeIssues({ db_storage_gi: this.size }, { db_storage_gi: size }, 'dev', this.known()).length ===
      0
    );
  }

  patch(...sizes: number[]): this {
    for (const size of sizes) {
      expect(this.accepts(size), `${this.size} to ${size}`).toBe(true);
      const after = { spec: { db_storage_gi: size }, external: false, generation: this.generation + 1 };
      const former = formerSizesAfter({ db_storage_gi: this.size }, after, 'dev', this.known());
      this.former = former ?? this.former;
      this.size = size;
      this.generation += 1;
    }
    return this;
  }

  /** @param capacity null: the report has none, as that is what the generation asks for */
  report(capacity: number | null, generation = this.generation): this {
    this.observed = generation;
    this.reported = capacity;
    return this;
  }
}

describe('a size that was in effect before', () => {
  test('is accepted again before the first report, like every size in between', () => {
    const volume = new Volume(5).patch(20);
    expect([4, 5, 10, 20].filter((size) => volume.accepts(size))).toEqual([5, 10, 20]);
    volume.patch(10, 5, 30);
    expect([4, 5, 6, 30].filter((size) => volume.accepts(size))).toEqual([5, 6, 30]);
  });

  test('is accepted again while the cluster does not report, whatever else changes', () => {
    const volume = new Volume(5).report(null).patch(20);
    volume.generation += 3;
    expect([4, 5].map((size) => volume.accepts(size))).toEqual([false, true]);
  });

  test('is accepted again after a late report about the size before', () => {
    const volume = new Volume(5).patch(20).report(null, 1);
    expect([4, 5].map((size) => volume.accepts(size))).toEqual([false, true]);
  });

  test('is rejected when the volume has grown, as the report of the new generation states', () => {
    const volume = new Volume(5).report(null).patch(20).report(null);
    expect([5, 10, 19, 20].filter((size) => volume.accepts(size))).toEqual([20]);
    volume.patch(30);
    expect([5, 19, 20].filter((size) => volume.accepts(size))).toEqual([20]);
  });

  test('is rejected when the volume has grown, even if the new generation is not in effect', () => {
    const volume = new Volume(5).report(5).patch(20).report(20, 1);
    expect([5, 19, 20].filter((size) => volume.accepts(size))).toEqual([20]);
  });

  test('is rejected when the volume has grown to a size in between, even if the report is late', () => {
    const volume = new Volume(5).report(null).patch(20).report(5).patch(30).report(null, 2);
    expect([5, 19, 20, 30].filter((size) => volume.accepts(size))).toEqual([20, 30]);
  });

  test('is the only size below the capacity that is accepted when the provider has rounded it up', () => {
    const volume = new Volume(5).report(8).patch(20);
    for (const now of [volume, volume.report(8)])
      expect([4, 5, 6, 7, 8, 9].filter((size) => now.accepts(size))).toEqual([5, 8, 9]);
    const { msg } =
      specChangeIssues({ db_storage_gi: 20 }, { db_storage_gi: 7 }, 'dev', volume.known())[0] ?? {};
    expect(msg).toBe(
      'must not be less than 8, because a volume cannot shrink, but 7 was requested; the capacity of the volume is 8 Gi; the former size 5 is also accepted',
    );
    volume.patch(5).report(8).patch(20).report(8).patch(30).report(8);
    expect([5, 6].map((size) => volume.accepts(size))).toEqual([true, false]);
    volume.report(12);
    expect([5, 8, 11, 12].filter((size) => volume.accepts(size))).toEqual([12]);
  });

  test('is not taken from a volume that was kept while another database was used', () => {
    const spec = { db_storage_gi: 40 };
    const after = { spec, external: false, generation: 3 };
    expect(formerSizesAfter({ db_storage_gi: 5 }, after, 'dev', { keptGi: 0 })).toBeUndefined();
    expect(formerSizesAfter({ db_storage_gi: 5 }, after, 'dev', { keptGi: 20 })).toMatchObject([
      { until: 3, gi: 20 },
    ]);
    expect(formerSizesAfter({ db_storage_gi: 5 }, { ...after, external: true }, 'dev', {})).toBeUndefined();
  });

  test('is one of at most sixteen, which include that of the last report', () => {
    const volume = new Volume(5).report(null);
    for (let size = 6; size < 60; size += 1) volume.patch(size);
    expect(volume.former.length).toBeLessThanOrEqual(16);
    expect([4, 5].map((size) => volume.accepts(size))).toEqual([false, true]);
  });
});

/** Random changes of a deployment whose volume grows now and then, and reports that come late. */
interface Step {
  readonly size: number;
  readonly grows: boolean;
  readonly reports: number;
  /** Reports have the capacity although it is what was asked for. */
  readonly isExplicit: boolean;
}

class History {
  readonly volume: Volume;
  readonly #extra: number;
  #capacity: number;
  /** Sizes by generation. */
  readonly #asked: number[];
  readonly #late: { generation: number; capacity: number }[] = [];
  /** What reports have said so far, by the size in effect. */
  readonly #seen: { gi: number | undefined; capacity: number }[] = [];

  constructor(size: number, extra: number) {
    this.volume = new Volume(size);
    this.#asked = [0, size];
    this.#extra = extra;
    this.#capacity = size + extra;
  }

  play({ size, grows, reports, isExplicit }: Step): void {
    this.#change(size);
    this.#late.push({ generation: this.volume.generation, capacity: this.#capacity });
    if (grows) this.#capacity = Math.max(this.#capacity, this.volume.size + this.#extra);
    this.#late.push({ generation: this.volume.generation, capacity: this.#capacity });
    for (const report of this.#late.splice(0, reports)) this.#report(report, isExplicit);
  }

  #change(size: number): void {
    const { size: before } = this.volume;
    if (size === before || !this.volume.accepts(size)) return;
    this.#seen.push({ gi: before, capacity: this.#seen.at(-1)?.capacity ?? 0 });
    this.volume.patch(size);
    this.#asked[this.volume.generation] = size;
    expect(this.volume.accepts(before)).toBe(true);
  }

  #report({ generation, capacity }: { generation: number; capacity: number }, isExplicit: boolean): void {
    const gi = this.#asked[generation];
    this.#seen.push({ gi, capacity });
    this.volume.report(!isExplicit && capacity === gi ? null : capacity, generation);
    if (isExplicit || generation === this.volume.generation) this.#check(capacity);
  }

  /** Below the capacity only a size is accepted that was in effect when the volume had as much as now. */
  #check(capacity: number): void {
    for (let size = 1; size < Math.min(this.volume.size, capacity); size += 1) {
      const wasInEffect = this.#seen.some((each) => each.gi === size && each.capacity >= capacity);
      if (this.volume.accepts(size)) expect(wasInEffect, `${size} of ${capacity}`).toBe(true);
    }
    expect(this.volume.accepts(capacity)).toBe(true);
  }
}

test('accepts the previous size and none below the known capacity, for any order of changes and reports', () => {
  const size = fc.integer({ min: 1, max: 40 });
  const step = fc.record({
    size,
    grows: fc.boolean(),
    reports: fc.integer({ min: 0, max: 3 }),
    isExplicit: fc.boolean(),
  });
  fc.assert(
    fc.property(
      size,
      fc.integer({ min: 0, max: 3 }),
      fc.array(step, { maxLength: 30 }),
      (first, extra, steps) => {
        const history = new History(first, extra);
        for (const each of steps) history.play(each);
      },
    ),
    { numRuns: 2000 },
  );
});

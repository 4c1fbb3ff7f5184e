import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  connectionBudget,
  connectionShortage,
  fewestConnections,
  podsWithSurge,
  RESERVED_CONNECTIONS,
} from '../../../../src/domain/resource-spec/connection-budget.ts';

const scales = fc.array(fc.integer({ min: 0, max: 1000 }), { maxLength: 4 });

describe('connectionBudget', () => {
  it.each([
    [[1], null, { pods: 2, maxConnections: 100, poolSize: 10 }],
    [[0], null, { pods: 0, maxConnections: 100, poolSize: 10 }],
    [[10], null, { pods: 13, maxConnections: 200, poolSize: 10 }],
    [[10, 10, 1, 1], null, { pods: 30, maxConnections: 400, poolSize: 10 }],
    [[1000, 1000, 1000, 1], null, { pods: 3752, maxConnections: 3800, poolSize: 1 }],
    [[200], null, { pods: 250, maxConnections: 1000, poolSize: 3 }],
    [[1], 100, { pods: 2, maxConnections: 100, poolSize: 44 }],
    [[1], 13, { pods: 2, maxConnections: 13, poolSize: 1 }],
    [[1], 5000, { pods: 2, maxConnections: 5000, poolSize: 100 }],
    [[1], 3, { pods: 2, maxConnections: 3, poolSize: 1 }],
  ])('returns the budget for the scales %j and the sent value %j', (maxScales, sent, expected) =>
    expect(connectionBudget(maxScales, sent)).toEqual(expected),
  );

  it('never assigns more connections than exist', () => {
    fc.assert(
      fc.property(scales, fc.option(fc.nat({ max: 50_000 })), (maxScales, spare) => {
        const sent = spare === null ? null : fewestConnections(podsWithSurge(maxScales)) + spare;
        const { pods, maxConnections, poolSize } = connectionBudget(maxScales, sent);
        expect(pods * poolSize).toBeLessThan(maxConnections - RESERVED_CONNECTIONS);
        expect(poolSize).toBeGreaterThanOrEqual(1);
        if (sent === null) expect(maxConnections).toBeGreaterThanOrEqual(100);
      }),
    );
  });
});

describe('connectionShortage', () => {
  it('returns null exactly when every pod gets a connection', () => {
    fc.assert(
      fc.property(scales, (maxScales) => {
        const components = new Map(maxScales.map((scale, index) => [`c${index}`, scale]));
        const needed = fewestConnections(podsWithSurge(maxScales));
        expect(connectionShortage(components, needed)).toBeNull();
        expect(connectionShortage(components, needed - 1)).not.toBeNull();
        expect(connectionBudget(maxScales, needed).poolSize).toBe(1);
      }),
    );
  });

  it('states the calculation', () => {
    const components = new Map([
      ['api', 10],
      ['executor', 1],
    ]);
    expect(connectionShortage(components, 20)).toBe(
      '20 connections are too few: api ceil(1.25 × 10) = 13, executor ceil(1.25 × 1) = 2, together 15 pods with at least 1 connection each; with 10 reserved connections, at least 26 are needed',
    );
  });
});

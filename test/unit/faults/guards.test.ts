import { readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { describe, expect, test } from 'vitest';
import { without } from '../../faults/guards/checkout.ts';
import { GUARDS } from '../../faults/guards/guards.ts';
import { plansOf } from '../../faults/guards/run-guards.ts';
import { allPlans } from '../../faults/plans.ts';

const plans = allPlans();
const page = readFileSync(new URL('../../../docs/reliability.md', import.meta.url), 'utf8');

test('there are at least 15 guards, no two of one name', () => {
  expect(new Set(GUARDS.map(({ name }) => name)).size).toBe(GUARDS.length);
  expect(GUARDS.length).toBeGreaterThanOrEqual(15);
});

describe.each(GUARDS.map((guard) => [guard.name, guard] as const))('guard %s', (name, guard) => {
  test('is taken out by a patch that applies exactly once and leaves a program', () => {
    expect(() => stripTypeScriptTypes(without(guard))).not.toThrow();
  });

  test('has plans that are there', () => {
    expect(plansOf(guard, plans)).not.toHaveLength(0);
  });

  test('is told of in docs/reliability.md', () => {
    expect(page).toContain(`\`${name}\``);
  });
});

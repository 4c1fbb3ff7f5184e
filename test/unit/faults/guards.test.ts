import { existsSync, readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { describe, expect, test } from 'vitest';
import { findMarkers, without } from '../../faults/guards/checkout.ts';
import { GUARDS } from '../../faults/guards/guards.ts';
import { plansOf } from '../../faults/guards/run-guards.ts';
import { guardLines } from '../../faults/guards/table.ts';
import { allPlans } from '../../faults/plans.ts';

const ROOT = new URL('../../../', import.meta.url);
const plans = allPlans();
const page = readFileSync(new URL('docs/reliability.md', ROOT), 'utf8');

test('each guard has one marker comment in src, and each marker has one guard', () => {
  expect(
    findMarkers()
      .map(({ name }) => name)
      .sort(),
  ).toEqual(GUARDS.map(({ name }) => name).sort());
  expect(GUARDS.length).toBeGreaterThanOrEqual(41);
});

describe.each(GUARDS.map((guard) => [guard.name, guard] as const))('guard %s', (name, guard) => {
  test('leaves a program whose syntax and imports are valid when it is removed', () => {
    const { file, text } = without(guard);
    expect(text).not.toBe(readFileSync(new URL(file, ROOT), 'utf8'));
    if (file.endsWith('.ts')) expect(() => stripTypeScriptTypes(text)).not.toThrow();
    for (const [, path = ''] of text.matchAll(/import\('(\.[^']+)'\)/g))
      expect(existsSync(new URL(path, new URL(file, ROOT))), path).toBe(true);
  });

  test('names plans that exist', () => {
    expect(plansOf(guard, plans)).not.toHaveLength(0);
  });

  test('has a row in docs/reliability.md', () => {
    expect(page).toContain(`\`${name}\``);
  });
});

test('the summary line in docs/reliability.md matches the table below it', () => {
  const [line = 'no line'] = guardLines(GUARDS, [], page.split('\n'), { day: '', commit: undefined });
  expect(page.split('\n')).toContain(line);
});

/** What a run of `npm run faults -- --guards --write` leaves in docs/reliability.md. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { GUARDS, type Guard } from '../../faults/guards/guards.ts';
import type { GuardVerdict } from '../../faults/guards/run-guards.ts';
import { guardLines } from '../../faults/guards/table.ts';

const guards = GUARDS.slice(0, 3);
const [one, two, three] = guards as [Guard, Guard, Guard];
const missed = ({ name }: Guard): GuardVerdict => ({
  guard: name,
  missed: true,
  plan: 'kill/a',
  oracle: 'O1',
  message: 'unlike | it',
  seconds: 1,
});
const FIRST = { day: '2026-10-01', commit: 'aaa1111' };
const LATER = { day: '2026-10-05', commit: undefined };

test('the line above the table counts its rows, and tells from when the newest is', () => {
  const lines = guardLines(guards, [missed(one)], [], FIRST);
  expect(lines[0]).toBe(
    'guards: 3, missed: 1, not missed: 0, not tried yet: 2; the newest row is of 2026-10-01, commit aaa1111.',
  );
  const more = guardLines(guards, [{ ...missed(two), missed: false }, missed(three)], lines, LATER);
  expect(more[0]).toBe('guards: 3, missed: 2, not missed: 1; the newest row is of 2026-10-05.');
});

test('rows that were not tried keep what was seen of them, and a run of none says nothing of its own day', () => {
  const lines = guardLines(guards, [missed(one)], [], FIRST);
  expect(lines).toContainEqual(expect.stringMatching(/^\| `.*` \| .* \| `kill\/a`, O1: unlike \\\| it \|$/));
  expect(guardLines(guards, [], lines, LATER)).toEqual(lines);
  expect(guardLines(guards, [missed(two)], lines, LATER)[4]).toBe(lines[4]);
});

test('the line on the page counts the table on the page', () => {
  const page = readFileSync(new URL('../../../docs/reliability.md', import.meta.url), 'utf8').split('\n');
  const [line = 'no line'] = guardLines(GUARDS, [], page, FIRST);
  expect(page).toContain(line);
});

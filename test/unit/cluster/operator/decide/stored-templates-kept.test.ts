import { expect, test } from 'vitest';
import { removeOldTemplates } from '../../../../../src/cluster/operator/decide/removals.ts';
import type { Observed } from '../../../../../src/cluster/operator/observed.ts';
import type { Target } from '../../../../../src/cluster/operator/rollout/target.ts';

/** Templates of a revision. Templates with the same inputs differ only in the values of Secrets. */
const stored = (name: string, revisionNumber: number, inputsHash: string, minute: number) => ({
  name,
  uid: name,
  resourceVersion: '1',
  revisionId: `r${revisionNumber}`,
  revisionNumber,
  inputsHash,
  createdAt: `2026-01-01T00:${String(minute).padStart(2, '0')}:00Z`,
});

/** Names of the templates that stay while `active` is active, and no other templates are in use. */
function kept(all: ReturnType<typeof stored>[], active: string): string[] {
  const observed = {
    resource: { metadata: { namespace: 'team' }, status: { activeRevision: { templates: active } } },
    storedTemplates: all,
  } as unknown as Observed;
  const removed = removeOldTemplates(observed, { name: active } as Target).map((action) =>
    action.kind === 'delete' ? action.object.metadata.name : '',
  );
  return all.map(({ name }) => name).filter((name) => !removed.includes(name));
}

test('keeps the templates of earlier revisions after many changes of a value', () => {
  const rotations = Array.from({ length: 12 }, (_, at) => stored(`web-2-${at + 1}`, 2, 'b', at + 10));
  const all = [stored('web-1', 1, 'a', 1), stored('web-2', 2, 'a', 2), ...rotations];
  expect(kept(all, 'web-2-12')).toEqual(['web-1', 'web-2', 'web-2-11', 'web-2-12']);
});

test('keeps templates in use, although newer ones differ only in a value', () => {
  const rotations = Array.from({ length: 4 }, (_, at) => stored(`web-2-${at + 1}`, 2, 'b', at + 10));
  expect(kept(rotations, 'web-2-1')).toEqual(['web-2-1', 'web-2-4']);
});

test('keeps the ten newest of different templates', () => {
  const all = Array.from({ length: 14 }, (_, at) => stored(`web-${at + 1}`, at + 1, 'a', at));
  expect(kept(all, 'web-2')).toEqual(['web-2', ...all.slice(4).map(({ name }) => name)]);
});

import { expect, test } from 'vitest';
import { KnownRoom } from '../../../../../src/hub/store/tenancy/known-room.ts';

function roomAt() {
  const clock = { now: 0 };
  return { clock, room: new KnownRoom(() => clock.now) };
}

test('knows the room of a tenant for as long as all processes together need to fill it', () => {
  const { clock, room } = roomAt();
  expect(room.has('a')).toBe(false);
  room.note('a', 20_000);
  clock.now = 1999;
  expect(room.has('a')).toBe(true);
  expect(room.has('b')).toBe(false);
  clock.now = 2000;
  expect(room.has('a')).toBe(false);
});

test('uses the last count, and knows nothing when there is little room', () => {
  const { room } = roomAt();
  room.note('a', 20_000);
  room.note('a', 999);
  expect(room.has('a')).toBe(false);
  room.note('b', -5);
  expect(room.has('b')).toBe(false);
});

test('forgets the tenants that were counted longest ago when there are too many', () => {
  const { room } = roomAt();
  for (let index = 0; index < 10_001; index += 1) room.note(`tenant-${index}`, 20_000);
  expect(room.has('tenant-0')).toBe(false);
  expect(room.has('tenant-1')).toBe(true);
  expect(room.has('tenant-10000')).toBe(true);
});

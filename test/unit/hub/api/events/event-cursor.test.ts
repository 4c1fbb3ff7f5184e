import { expect, test } from 'vitest';
import { uuidv7 } from '../../../../../src/domain/core/id.ts';
import {
  isListCursor,
  parseStreamCursor,
  streamCursor,
} from '../../../../../src/hub/api/events/event-cursor.ts';
import { BEFORE_ALL } from '../../../../../src/hub/store/events/event-follow.ts';

test('parses a cursor of a stream when it was written by the stream', () => {
  const id = uuidv7();
  for (const place of [BEFORE_ALL, { position: 1, id }, { position: 999_999_999_999_999, id }])
    expect(parseStreamCursor(streamCursor(place))).toEqual(place);
});

test('rejects a text when it is not a cursor of a stream', () => {
  const id = uuidv7();
  const texts = ['', '_', '1', id, `1${id}`, `01_${id}`, `-1_${id}`, `1.5_${id}`, `1_${id}x`, `1_ ${id}`];
  for (const text of [...texts, `1234567890123456_${id}`]) expect(parseStreamCursor(text)).toBeNull();
});

test('does not confuse cursors of lists and streams', () => {
  const id = uuidv7();
  expect(isListCursor(id)).toBe(true);
  expect(isListCursor(streamCursor({ position: 1, id }))).toBe(false);
});

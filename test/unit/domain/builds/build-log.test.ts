import { describe, expect, test } from 'vitest';
import {
  isComplete,
  KEPT_LOG,
  type KeptLog,
  LEFT_OUT,
  type LogPiece,
  takePiece,
} from '../../../../src/domain/builds/build-log.ts';
import { withoutCredentials } from '../../../../src/domain/redaction/credential-text.ts';

const EMPTY: KeptLog = { lines: 0, bytes: 0, attempt: null, linesBefore: 0 };
const line = (text: string) => ({ at: '2026-11-21T10:00:00Z', step: 'source' as const, text });
const piece = (firstLine: number, texts: readonly string[], attempt = 1): LogPiece => ({
  attempt,
  firstLine,
  lines: texts.map(line),
});
const texts = (kept: KeptLog, of: LogPiece) => takePiece(kept, of).added.map(({ text }) => text);

describe('a piece of a build log', () => {
  const kept: KeptLog = { lines: 5, bytes: 50, attempt: 1, linesBefore: 0 };
  test('is appended to the stored lines', () => {
    expect(texts(EMPTY, piece(0, ['a', 'b']))).toEqual(['a', 'b']);
    expect(takePiece(kept, piece(5, ['a']))).toMatchObject({ nextLine: 6, full: false });
  });
  test('adds only the lines that are not stored yet when it is sent again', () => {
    expect(takePiece(kept, piece(3, ['a', 'b']))).toEqual({ added: [], nextLine: 5, full: false });
    expect(texts(kept, piece(3, ['a', 'b', 'c']))).toEqual(['c']);
    expect(takePiece(kept, piece(0, ['a']))).toMatchObject({ added: [], nextLine: 5 });
  });
  test('is rejected with the expected line when it leaves a gap', () => {
    expect(takePiece(kept, piece(6, ['a']))).toEqual({ added: [], nextLine: 5, full: false });
    expect(takePiece(EMPTY, piece(1, ['a']))).toMatchObject({ added: [], nextLine: 0 });
  });
  test('starts after the earlier attempt, which is then complete, when it is of a later attempt', () => {
    expect(texts(kept, piece(0, ['a'], 2))).toEqual(['a']);
    const second = { lines: 6, bytes: 51, attempt: 2, linesBefore: 5 };
    expect(takePiece(second, piece(1, ['b'], 2))).toMatchObject({ nextLine: 2 });
    expect(takePiece(second, piece(5, ['late'], 1))).toMatchObject({ added: [], full: true });
  });
});

test('ends a log at its maximum number of lines with a line that states this', () => {
  const kept = { lines: KEPT_LOG.lines - 1, bytes: 10, attempt: 1, linesBefore: 0 };
  const { added, full } = takePiece(kept, piece(kept.lines, ['a', 'b', 'c']));
  expect(added.map(({ text }) => text)).toEqual(['a', LEFT_OUT]);
  expect(full).toBe(true);
  expect(takePiece({ ...kept, lines: KEPT_LOG.lines + 1 }, piece(0, ['a'], 2))).toMatchObject({
    added: [],
    full: true,
  });
});

test('ends a log at its maximum number of bytes with a line that states this', () => {
  const long = 'ä'.repeat(KEPT_LOG.bytes / 4);
  expect(texts(EMPTY, piece(0, [long, long, 'c'])).map((text) => text.length)).toEqual([
    long.length,
    long.length,
    LEFT_OUT.length,
  ]);
});

test('treats a log as complete when its end was reported or cannot be reported any more', () => {
  const now = new Date('2026-11-21T10:00:00Z');
  const ended = { phase: 'Succeeded', finished_at: '2026-11-21T09:59:50Z' };
  expect(isComplete(ended, true, true, now)).toBe(false);
  expect(isComplete(ended, false, true, now)).toBe(true);
  expect(isComplete(ended, false, false, now)).toBe(false);
  expect(isComplete({ ...ended, finished_at: '2026-11-21T09:00:00Z' }, false, false, now)).toBe(true);
  expect(isComplete(null, false, false, now)).toBe(true);
});

test('removes credentials that it recognizes by their form', () => {
  expect(withoutCredentials('push berth-registry.ab-C_1.x-y_Z failed')).toBe('push *** failed');
  expect(withoutCredentials('postgres://app:s3cret@db:5432/app https://x.example/a:b@c')).toBe(
    'postgres://app:***@db:5432/app https://x.example/a:b@c',
  );
  const plain = 'https://host:8080/path mail@host at 10:00';
  expect(withoutCredentials(plain)).toBe(plain);
});

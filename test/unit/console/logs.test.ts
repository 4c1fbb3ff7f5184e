import { describe, expect, test } from 'vitest';
import { plainText, segmentsOf } from '../../../src/console/logs/ansi.ts';
import { isFollowed, logCommand, logFiltersOf, logPath } from '../../../src/console/logs/log-filters.ts';
import {
  containersOf,
  droppedOf,
  type LogEntry,
  MAX_LINES,
  matching,
  NO_LINES,
  withLines,
} from '../../../src/console/logs/log-lines.ts';
import { buildPosition, podPosition, withQuery } from '../../../src/console/logs/log-position.ts';

const ESC = '\u001b';
const ID = '0196f0a0-5c1e-7b3a-9d51-0c4f6f1c2a77';

/** Segments as text with the names of their styles. */
const styled = (line: string) =>
  segmentsOf(line).map(({ text, hue, isBold, isItalic, isUnderlined }) =>
    [text, hue, isBold && 'bold', isItalic && 'italic', isUnderlined && 'underlined']
      .filter((part) => typeof part === 'string')
      .join('|'),
  );

describe('segmentsOf', () => {
  test('is the line itself when it has no control sequence', () => {
    expect(styled('<b>a</b> שלום 🚢')).toEqual(['<b>a</b> שלום 🚢']);
    expect(segmentsOf('')).toEqual([]);
  });

  test('applies colors and styles until they are reset', () => {
    expect(styled(`${ESC}[1;31merror${ESC}[0m: ${ESC}[4mfile${ESC}[24m${ESC}[3m x${ESC}[m y`)).toEqual([
      'error|red|bold',
      ': ',
      'file|underlined',
      ' x|italic',
      ' y',
    ]);
  });

  test.each([
    ['the palette', '38;5;196', 'red'],
    ['the palette with colons', '38:5:46', 'green'],
    ['the first colors of the palette', '38;5;4', 'blue'],
    ['true color', '38;2;0;200;200', 'cyan'],
    ['a bright color', '93', 'yellow'],
    ['gray, which depends on the theme', '38;5;240', ''],
    ['white, which depends on the theme', '37', ''],
    ['a background', '48;5;196', ''],
    ['an unknown code', '999', ''],
  ])('shows %s', (_, code, hue) => {
    expect(styled(`${ESC}[${code}mx`)).toEqual([hue === '' ? 'x' : `x|${hue}`]);
  });

  test.each([
    ['a title', `a${ESC}]0;title\u0007b`],
    ['a link', `a${ESC}]8;;https://example.com/${ESC}\\b${ESC}]8;;${ESC}\\`],
    ['a movement of the cursor', `a${ESC}[2J${ESC}[1;1Hb`],
    ['a device control string', `a${ESC}Pq#0${ESC}\\b`],
    ['a charset', `a${ESC}(0b`],
    ['an 8-bit sequence', `a\u009b31;1Hb`],
    ['a private mode', `a${ESC}[?25lb`],
  ])('removes %s', (_, line) => {
    expect(styled(line)).toEqual(['ab']);
    expect(plainText(line)).toBe('ab');
  });

  test('does not let an unfinished sequence hide the rest of the line', () => {
    expect(plainText(`${ESC}]0;hidden text`)).toBe('0;hidden text');
    expect(plainText(`a${ESC}Phidden`)).toBe('ahidden');
  });

  test('replaces control characters, and those that change the direction', () => {
    expect(plainText('a\u0000b\u202ec\u2066d\re')).toBe('a b c d e');
    expect(plainText('a\tb\r')).toBe('a\tb');
  });

  test('limits the number of parts, and keeps the whole text', () => {
    const line = Array.from({ length: 10_000 }, (_, index) => `${ESC}[3${index % 6}mx`).join('');
    const segments = segmentsOf(line);
    expect(segments.length).toBeLessThan(300);
    expect(segments.map(({ text }) => text).join('')).toBe('x'.repeat(10_000));
  });

  test('reads long lines whose sequences have no end', () => {
    expect(plainText(`${ESC}]`.repeat(50_000))).toBe('');
    expect(plainText(`${ESC}[${'0;'.repeat(50_000)}`)).toHaveLength(100_000);
  });
});

const entry = (text: string, container = 'app'): LogEntry => ({ at: '', origin: ['api'], container, text });

describe('withLines', () => {
  test('drops the oldest lines above the maximum, and counts them', () => {
    const first = withLines(NO_LINES, [entry('first')]);
    const full = withLines(
      first,
      Array.from({ length: MAX_LINES }, (_, index) => entry(String(index))),
    );
    expect(full.entries).toHaveLength(MAX_LINES);
    expect(full.entries[0]).toMatchObject({ text: '0', number: 1 });
    expect(droppedOf(full)).toBe(1);
  });

  test('drops long lines above the maximum of characters, but keeps the newest line', () => {
    const long = 'x'.repeat(1_000_000);
    const lines = withLines(
      NO_LINES,
      Array.from({ length: 6 }, () => entry(long)),
    );
    expect(lines.entries).toHaveLength(4);
    expect(lines.characters).toBe(4_000_000);
    expect(withLines(lines, [entry('x'.repeat(5_000_000))]).entries).toHaveLength(1);
  });
});

test('matching finds text without regard to case and colors, and filters by container', () => {
  const lines = withLines(NO_LINES, [
    entry(`${ESC}[31mER${ESC}[0mROR`),
    entry('ok'),
    entry('error', 'proxy'),
  ]);
  expect(matching(lines, { q: 'error' }).map(({ number }) => number)).toEqual([0, 2]);
  expect(matching(lines, { q: 'error', container: 'app' })).toHaveLength(1);
  expect(matching(lines, {})).toBe(lines.entries);
  expect(containersOf(lines)).toEqual(['app', 'proxy']);
});

describe('podPosition', () => {
  const line = (at: string, pod = 'p1', text = at) => ({ at, pod, container: 'app', component: 'api', text });

  test('continues at the container that is furthest behind, and takes no line twice', () => {
    const position = podPosition();
    position.begin();
    expect(position.query()).toEqual({});
    expect(position.take(line('5'))).toMatchObject({
      origin: ['api', 'p1', 'app'],
      container: 'app',
      text: '5',
    });
    position.take(line('3', 'p2'));
    position.begin();
    expect(position.query()).toEqual({ since: '3' });
    expect([line('5'), line('3', 'p2'), line('4', 'p2'), line('6')].map(position.take)).toEqual([
      null,
      null,
      expect.objectContaining({ text: '4' }),
      expect.objectContaining({ text: '6' }),
    ]);
  });

  test('takes lines of one time in one answer', () => {
    const position = podPosition();
    position.begin();
    expect(position.take(line('5', 'p1', 'a'))).not.toBeNull();
    expect(position.take(line('5', 'p1', 'b'))).not.toBeNull();
  });

  test('ignores what is not a line', () => {
    expect([undefined, null, 'x', {}, { text: 1 }].map(podPosition().take)).toEqual(Array(5).fill(null));
  });
});

test('buildPosition continues after the lines that were read', () => {
  const position = buildPosition();
  expect(position.query()).toEqual({});
  expect(position.take({ at: '1', attempt: 2, step: 'image', text: 'x' })).toMatchObject({
    origin: ['image', 'attempt 2'],
  });
  expect(position.query()).toEqual({ offset: '1' });
  expect(withQuery('/logs?follow=true', position.query())).toBe('/logs?follow=true&offset=1');
  expect(withQuery('/logs', {})).toBe('/logs');
});

describe('filters', () => {
  test('of a URL leave out what the API would reject', () => {
    expect(
      logFiltersOf({ source: 'x', component: '<b>', revision: '1', previous: 'yes', q: 'a', container: '' }),
    ).toEqual({ q: 'a' });
    const all = { component: 'queue', revision: ID, previous: 'true', container: 'app' };
    expect(logFiltersOf(all)).toEqual(all);
  });

  test('become a request of the API and a command', () => {
    const filters = logFiltersOf({ component: 'api', revision: ID });
    expect(logPath('d1', filters)).toBe(
      `/v2/deployments/d1/logs?component=api&revision_id=${ID}&follow=true`,
    );
    expect(logCommand('shop', filters)).toBe(`berth logs shop --component api --revision ${ID} --follow`);
  });

  test('of a previous run are not followed', () => {
    expect(isFollowed({ previous: 'true' })).toBe(false);
    expect(logPath('d1', { previous: 'true', unmasked: 'true' })).toBe(
      '/v2/deployments/d1/logs?previous=true&mask_secrets=false',
    );
    expect(logCommand('shop', { previous: 'true' })).toBe('berth logs shop --previous');
  });

  test('of a build name its revision', () => {
    const request = { source: 'build', revision: ID } as const;
    expect(logPath('d1', request)).toBe(`/v2/deployments/d1/revisions/${ID}/build-logs?follow=true`);
    expect(logCommand('shop', request)).toBe(`berth revisions build-logs shop ${ID} --follow`);
  });
});

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { ContainerLog, type LogQuery } from '../../../cluster/build-node/container-log.ts';
import { logQuery } from '../../../cluster/build-node/log-server.ts';

let folder: string;
let log: ContainerLog;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'berth-log-'));
  log = new ContainerLog(join(folder, 'log'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

async function read(query: LogQuery, signal = new AbortController().signal): Promise<string> {
  let text = '';
  for await (const piece of log.read(query, signal)) text += piece;
  return text;
}

it('stores complete lines, even if they arrive in parts', async () => {
  log.write('one\ntw');
  log.write('o\n\nthr');
  expect(await read({})).toBe('one\ntwo\n\n');
  log.write('ee');
  log.end();
  expect(await read({})).toBe('one\ntwo\n\nthree\n');
  expect(log.lastLines()).toBe('one\ntwo\n\nthree');
});

it('returns the last lines, lines since a time, lines with their times, and a number of bytes', async () => {
  log.write('one\ntwo\nthree\n');
  expect(await read({ tail: 2 })).toBe('two\nthree\n');
  expect(await read({ tail: 0 })).toBe('');
  expect(await read({ since: Date.now() + 1000 })).toBe('');
  expect(await read({ since: Date.now() - 60_000, tail: 1 })).toBe('three\n');
  expect(await read({ tail: 1, timestamps: true })).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z three\n$/);
  expect(await read({ limitBytes: 6 })).toBe('one\ntw');
});

it('follows until the end of the container, or until the client disconnects', async () => {
  log.write('one\n');
  const followed = read({ follow: true });
  const closed = new AbortController();
  const left = read({ follow: true }, closed.signal);
  log.write('two\n');
  closed.abort();
  expect(await left).toMatch(/^one\n/);
  log.write('three');
  log.end();
  expect(await followed).toBe('one\ntwo\nthree\n');
});

it('stops at its maximum size, and still has the last lines of the container', async () => {
  const line = 'x'.repeat(16_000);
  for (let count = 0; count < 700; count += 1) log.write(`${line}\n`);
  log.write('the end\n');
  log.end();
  const text = await read({});
  expect(text.length).toBeLessThan(11 * 1024 * 1024);
  expect(text).toMatch(/… output after 10485760 bytes is not kept\n$/);
  expect(log.lastLines()).toMatch(/the end$/);
});

it('parses query parameters like a kubelet', () => {
  const query = (text: string) => logQuery(new URLSearchParams(text), 100_000);
  expect(query('follow=true&tailLines=5&timestamps=true&limitBytes=9')).toMatchObject({
    follow: true,
    tail: 5,
    timestamps: true,
    limitBytes: 9,
    since: undefined,
  });
  expect(query('sinceSeconds=10').since).toBe(90_000);
  expect(query('sinceTime=1970-01-01T00:01:00Z').since).toBe(60_000);
  expect(query('sinceTime=nonsense&tailLines=-1')).toMatchObject({ since: undefined, tail: undefined });
});

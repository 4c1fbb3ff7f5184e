/** `berth events --follow`, as a user calls it, against a running API without a cluster. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { expect, onTestFinished, test } from 'vitest';
import { main } from './cli.ts';
import { client, env, one, proxy, run, usesApi, yaml } from './user.ts';

usesApi();

test('events says when there are older events, and follows from a time without a limit', async () => {
  await run(0, ['apply', '-f', '-'], {}, yaml('shop'));
  await run(0, ['scale', 'shop', '--max', '2']);
  const cut = await run(0, ['events', 'shop', '--since', '1h', '--limit', '1']);
  expect(cut.err).toBe('only the newest event is shown; next: --limit N shows more\n');
  expect((await run(0, ['events', 'shop', '--since', '1h'])).err).toBe('');
  const until = new Date(Date.now() - 15_000).toISOString();
  const range = ['--since', '1h', '--until', until];
  // The range has ended, so the stream ends too.
  expect((await run(0, ['events', '--follow', ...range])).err).toContain(
    'All events before the time `until` were sent.',
  );
  expect((await run(2, ['events', '--follow', '--limit', '200'])).err).toContain(
    '--limit must be at most 100',
  );
}, 60_000);

test('events --follow prints new events once, across a lost connection, until Ctrl-C', async () => {
  await run(0, ['apply', '-f', '-'], {}, yaml('shop'));
  const { id } = await one('shop');
  const streams: ServerResponse[] = [];
  const through = await proxy(({ url: target = '' }, response) => {
    if (target.includes('follow=true')) streams.push(response);
    return false;
  });
  const words = ['events', 'shop', '--follow', '-o', 'json'];
  const child = spawn(process.execPath, [main, ...words], {
    env: { PATH: process.env['PATH'] ?? '', ...env, BERTH_URL: through },
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  let out = '';
  child.stdout.on('data', (data) => {
    out += data;
  });
  const reasons = () =>
    out
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => (JSON.parse(line) as { reason: string }).reason);
  const count = (reason: string) => reasons().filter((each) => each === reason).length;
  const scale = (max: number) =>
    client.call('PATCH', `/v2/deployments/${id}`, { source_config: { resource_spec: { max_scale: max } } });
  await expect.poll(() => count('Created'), { timeout: 30_000 }).toBe(1);
  await scale(2);
  await expect.poll(() => count('Patched'), { timeout: 30_000 }).toBe(1);
  streams[0]?.destroy();
  await scale(3);
  await expect.poll(() => count('Patched'), { timeout: 30_000 }).toBe(2);
  expect(streams).toHaveLength(2);
  const all = reasons();
  child.kill('SIGINT');
  expect(await once(child, 'close')).toEqual([130, null]);
  expect(reasons()).toEqual(all);
  expect(count('Created')).toBe(1);
}, 120_000);

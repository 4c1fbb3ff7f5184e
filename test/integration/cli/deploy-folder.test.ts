/** `berth deploy NAME FOLDER`, as a user calls it, against a running API without a cluster. The registry keeps uploads in memory. */
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { beforeEach, expect, test } from 'vitest';
import { resolvePolicy } from '../../../src/domain/policy/policy.ts';
import type { SourceStore } from '../../../src/hub/api/sources/source-store.ts';
import { namesIn } from '../../unit/cli/client/deploy/archives.ts';
import { platformRegistry } from '../harness/api.ts';
import { client, env, folder, one, proxy, run, usesApi } from './user.ts';

const stored = new Map<string, Buffer>();
const sourceStore: SourceStore = {
  has: async ({ id }, digest) => stored.has(`${id} ${digest}`),
  async store({ id }, digest, content) {
    const parts: Uint8Array[] = [];
    for await (const part of content) parts.push(part);
    stored.set(`${id} ${digest}`, Buffer.concat(parts));
  },
};
const usual = resolvePolicy('self_hosted');
const policy = { ...usual, uploads: { ...usual.uploads, packed_mb: 1, entries: 3 } };
usesApi({ ...platformRegistry(), sourceStore, policy });

let app: string;
beforeEach(() => {
  stored.clear();
  app = join(folder, 'app');
  mkdirSync(join(app, 'dist'), { recursive: true });
  writeFileSync(join(app, 'server.js'), 'listen()');
  writeFileSync(join(app, 'dist/a.js'), '');
  writeFileSync(join(app, '.gitignore'), 'dist/\n');
  writeFileSync(join(app, '.env'), 'TOKEN=secret');
});

interface Revision {
  readonly number: number;
  readonly upload?: Readonly<Record<string, string>>;
}
async function revisions(): Promise<Revision[]> {
  const { id } = await one('shop');
  return (await client.call<{ resources: Revision[] }>('GET', `/v2/deployments/${id}/revisions`)).body
    .resources;
}

const deploy = (...more: string[]) => run(0, ['deploy', 'shop', app, '--no-wait', ...more]);

test('creates the deployment, stores the upload, and creates one revision for the same folder and settings', async () => {
  const first = await deploy();
  expect(first.err).toContain('created the deployment shop\n');
  expect(first.err).toContain('contain secrets: .env.');
  const [[, bytes] = ['', Buffer.alloc(0)]] = [...stored];
  expect(await namesIn(bytes)).toEqual(['.gitignore', 'server.js']);
  const digest = `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
  expect(await revisions()).toMatchObject([{ number: 1, upload: { digest } }]);
  expect((await deploy()).err).toContain('revision 1 has the same files and settings');
  const settings = ['--dockerfile', 'server.js', '--build-command', 'make'];
  expect((await deploy(...settings)).err).toContain('created revision 2\n');
  expect((await revisions())[0]?.upload).toEqual({ digest, dockerfile: 'server.js', build_command: 'make' });
  const shown = await run(0, ['revisions', 'get', 'shop']);
  expect(shown.out).toMatch(new RegExp(`^Upload: +${digest}$`, 'm'));
  expect(shown.out).toMatch(/^build_command: +make$/m);
  expect((await run(0, ['revisions', 'list', 'shop'])).out).toContain(`upload ${digest.slice(0, 19)}`);
});

/** What happens to the first upload on its way, by a proxy. */
const INTERRUPTIONS: readonly [string, (sent: IncomingMessage) => Promise<unknown>][] = [
  ['is cut off', (sent) => new Promise((resolve) => sent.once('data', resolve))],
  [
    'loses its response',
    async (sent) => {
      const { method = '', headers } = sent;
      const entries = Object.entries(headers).filter(([name]) => !['host', 'connection'].includes(name));
      const body = Readable.toWeb(sent) as ReadableStream<Uint8Array>;
      const init = { method, headers: entries as [string, string][], body, duplex: 'half' as const };
      expect((await fetch(new URL(sent.url ?? '', env.BERTH_URL), init)).status).toBe(201);
    },
  ],
];

test.each(INTERRUPTIONS)('repeats an upload that %s, and creates one revision', async (_what, interrupt) => {
  let uploads = 0;
  const before = async (sent: IncomingMessage, response: ServerResponse) => {
    if (!(sent.url ?? '').includes('/sources')) return false;
    uploads += 1;
    if (uploads > 1) return false;
    await interrupt(sent);
    response.destroy();
    return true;
  };
  const url = await proxy(before);
  await run(0, ['deploy', 'shop', app, '--no-wait', '--url', url]);
  expect(uploads).toBe(2);
  expect(await revisions()).toHaveLength(1);
});

test('prints the limit of the platform, and the reason of the API for an entry', async () => {
  for (const name of ['b', 'c', 'd']) writeFileSync(join(app, name), name);
  const refused = await run(1, ['deploy', 'shop', app, '--no-wait']);
  expect(refused.err).toMatch(/body\.(b|c|d|server\.js): the archive has more than 3 entries/);
  expect(refused.err).toContain('the deployment shop exists now, without a revision\n');
  expect(await revisions()).toEqual([]);
});

test('creates nothing for a folder that cannot be sent, and leaves no temporary file', async () => {
  symlinkSync('/etc/passwd', join(app, 'passwd'));
  const temporary = join(folder, 'tmp');
  mkdirSync(temporary);
  const { err } = await run(2, ['deploy', 'shop', app], { TMPDIR: temporary });
  expect(err).toMatch(/^berth: failed to pack passwd: it is a link out of the folder \(to \/etc\/passwd\)/m);
  await expect(one('shop')).rejects.toThrow('there is no deployment shop');
  await run(0, ['deploy', 'shop', join(app, 'dist'), '--dry-run'], { TMPDIR: temporary });
  expect(readdirSync(temporary)).toEqual([]);
});

/** Branches that are read with git: what git may call, what it gets to know, and its limits. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { IncomingMessage, RequestListener } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { RepositoryAccess } from '../../../../src/domain/builds/git-host.ts';
import { createGitHost } from '../../../../src/hub/git-host/git-host.ts';
import { listRefs } from '../../../../src/hub/git-host/list-refs.ts';
import { authority } from '../../cluster/kube/self-signed.ts';

const TOKEN = 'canary-of-the-token';
const COMMIT = 'a'.repeat(40);
const PATH = process.env['PATH'] ?? '';

const root = authority();
let folder: string;
let server: Server;
let port: number;
/** Requests by git itself. Berth's own first request is answered with 200. */
let gitRequests: IncomingMessage[];
let respond: RequestListener;
/** Content type of the response to that first request. */
let lookupType: string;

/** The request with which Berth checks the location. */
const isLookup = ({ headers }: IncomingMessage) => headers['user-agent'] === 'git/2 (berth)';
const pkt = (text: string) => `${(text.length + 4).toString(16).padStart(4, '0')}${text}`;
const SERVICE = pkt('# service=git-upload-pack\n');
const TYPE = { 'content-type': 'application/x-git-upload-pack-advertisement' };

const advertise =
  (...refs: string[]): RequestListener =>
  (_request, response) => {
    const [first = '', ...more] = refs;
    const lines = [pkt(`${first}\0symref=HEAD:refs/heads/main\n`), ...more.map((ref) => pkt(`${ref}\n`))];
    response.writeHead(200, TYPE).end(`${SERVICE}0000${lines.join('')}0000`);
  };

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'berth-list-refs-'));
  server = createServer(root.issue(['127.0.0.1', 'localhost', 'pinned.example']), (request, response) => {
    if (isLookup(request)) {
      response.writeHead(200, { 'content-type': lookupType }).end();
      return;
    }
    gitRequests.push(request);
    respond(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  port = (server.address() as AddressInfo).port;
});
beforeEach(() => {
  gitRequests = [];
  lookupType = TYPE['content-type'];
  respond = advertise(`${COMMIT} HEAD`, `${COMMIT} refs/heads/main`);
});
afterAll(() => {
  server.close();
  server.closeAllConnections();
  rmSync(folder, { recursive: true, force: true });
});

function heads(options: object = {}, token: string | null = TOKEN, tenantId = 'tenant') {
  const host = createGitHost({
    allowPrivate: true,
    ca: root.cert,
    deadlineMs: 30_000,
    path: PATH,
    ...options,
  });
  const access: RepositoryAccess = {
    provider: 'gitlab',
    repoUrl: `https://localhost:${port}/shop/web`,
    token,
  };
  return host.branchHeads(access, [null], tenantId);
}

/** Command lines of running processes that contain the URL of the server. */
const processes = () =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        return [readFileSync(`/proc/${pid}/cmdline`, 'latin1')];
      } catch {
        return [];
      }
    })
    .filter((line) => line.includes(`localhost:${port}/`));

const temporary = () => readdirSync(tmpdir()).filter((name) => name.startsWith('berth-git-'));

describe('git, as it lists the refs of a repository', () => {
  test('sends the token only when the host requests it, and only in a header', async () => {
    const authorized = respond;
    respond = (request, response) => {
      if (request.headers.authorization !== undefined) authorized(request, response);
      else response.writeHead(401, { 'www-authenticate': 'Basic realm="x"' }).end();
    };
    const log = join(folder, 'started');
    // Berth runs this program as git. It records arguments and environment, and runs git.
    const script = `#!/bin/sh\n{ printf '%s\\n' "$@"; env; } >> ${log}\nPATH="${PATH}" exec git "$@"\n`;
    writeFileSync(join(folder, 'git'), script, { mode: 0o755 });
    expect(await heads({ path: `${folder}:${PATH}` })).toEqual([{ branch: 'main', commit: COMMIT }]);
    const basic = `Basic ${Buffer.from(`oauth2:${TOKEN}`).toString('base64')}`;
    expect(gitRequests.map(({ headers }) => headers.authorization)).toEqual([undefined, basic]);
    const started = readFileSync(log, 'utf8');
    expect(started).toContain('remote-https');
    expect(started).not.toContain(TOKEN);
    expect(started).not.toContain(Buffer.from(`oauth2:${TOKEN}`).toString('base64'));
    // The environment of Berth contains its own secrets.
    expect(started).not.toMatch(/^(DATABASE_URL|BERTH_|HTTPS?_PROXY|https?_proxy|GIT_SSL)/m);
  });

  test('connects to the checked address, whatever the name resolves to', async () => {
    const url = `https://pinned.example:${port}`;
    const place = { url: `${url}/shop/web`, host: url, resolve: `pinned.example:${port}:127.0.0.1` };
    const options = { path: PATH, deadlineMs: 30_000, maxBytes: 10_000, ca: root.cert };
    expect((await listRefs(place, null, options)).head('main')).toEqual({ branch: 'main', commit: COMMIT });
  });

  test('follows no redirect, within the host or to another one', async () => {
    for (const location of [
      '/elsewhere/info/refs?service=git-upload-pack',
      'https://127.0.0.1:1/info/refs',
    ]) {
      gitRequests = [];
      respond = (_request, response) => response.writeHead(302, { location }).end();
      await expect(heads()).rejects.toMatchObject({ failure: 'unavailable' });
      expect(gitRequests, location).toHaveLength(1);
    }
  });

  test('trusts only the given authority', async () => {
    const place = { url: `https://localhost:${port}/x`, host: `https://localhost:${port}`, resolve: null };
    const options = { path: PATH, deadlineMs: 30_000, maxBytes: 10_000, ca: authority().cert };
    await expect(listRefs(place, null, options)).rejects.toMatchObject({ failure: 'unavailable' });
    expect(gitRequests).toEqual([]);
  });

  test('leaves no files and no processes', async () => {
    const before = temporary();
    await heads();
    respond = () => undefined;
    // In this time, git starts and sends its request also on a busy machine.
    await expect(heads({ deadlineMs: 5_000 })).rejects.toMatchObject({ failure: 'timeout' });
    expect(gitRequests.length).toBe(2);
    expect(processes()).toEqual([]);
    expect(temporary().filter((name) => !before.includes(name))).toEqual([]);
  });

  test('is reported as missing when it cannot be run, which is not a failure of the host', async () => {
    const rejected = heads({ path: folder.concat('/none') });
    await expect(rejected).rejects.toThrow('failed to run git');
    await expect(rejected).rejects.not.toHaveProperty('failure');
  });
});

describe('a response to git', () => {
  test('with the refs of a repository without branches has no default branch', async () => {
    const none = `${'0'.repeat(40)} capabilities^{}`;
    respond = (_request, response) =>
      response.writeHead(200, TYPE).end(`${SERVICE}0000${pkt(`${none}\0agent=x\n`)}0000`);
    expect(await heads()).toEqual([null]);
  });

  test.each([
    ['nothing', TYPE['content-type'], ''],
    ['part of a packet', TYPE['content-type'], `${SERVICE}0000003daaaa`],
    ['an error', TYPE['content-type'], `${SERVICE}0000${pkt('ERR words of the host\n')}`],
  ])('that is %s is not readable, and its text is not repeated', async (_what, type, text) => {
    respond = (_request, response) => response.writeHead(200, { 'content-type': type }).end(text);
    const error = await heads().catch((cause: unknown) => cause);
    expect(error).toMatchObject({ failure: 'unreadable' });
    expect(String(error)).not.toContain('words of the host');
  });

  test('that is a page is not readable, and git does not start', async () => {
    lookupType = 'text/html';
    await expect(heads()).rejects.toMatchObject({ failure: 'unreadable' });
    expect(gitRequests).toEqual([]);
  });

  test('with an error status makes the host unavailable', async () => {
    respond = (_request, response) => response.writeHead(503).end();
    await expect(heads()).rejects.toMatchObject({ failure: 'unavailable' });
  });

  test('is not readable when its list exceeds the limit', async () => {
    const refs = Array.from({ length: 1_000 }, (_, n) => `${COMMIT} refs/pull/${n}/head`);
    respond = advertise(`${COMMIT} HEAD`, ...refs);
    await expect(heads({ maxBytes: 10_000 })).rejects.toMatchObject({
      failure: 'unreadable',
      message: expect.stringContaining('its list of refs is too large'),
    });
  });

  test('that does not end exhausts the memory limit of git before its timeout', async () => {
    const ref = pkt(`${COMMIT} refs/heads/${'x'.repeat(900)}\n`).repeat(100);
    let sent = 0;
    respond = (_request, response) => {
      response.writeHead(200, TYPE).write(`${SERVICE}0000`);
      const write = () => {
        do sent += ref.length;
        while (!response.destroyed && response.write(ref));
        response.once('drain', write);
      };
      write();
    };
    await expect(heads()).rejects.toMatchObject({
      failure: 'unreadable',
      message: expect.stringContaining('its list of refs is too large'),
    });
    expect(sent).toBeGreaterThan(10 * 1024 * 1024);
    expect(sent).toBeLessThan(100 * 1024 * 1024);
  });
});

test.each([
  { tenants: ['one'], processes: 2 },
  { tenants: ['one', 'other'], processes: 3 },
])('at most $processes git processes run at the same time for $tenants', async ({ tenants, processes }) => {
  let open = 0;
  let most = 0;
  respond = (request, response) => {
    open += 1;
    most = Math.max(most, open);
    setTimeout(() => {
      open -= 1;
      advertise(`${COMMIT} HEAD`, `${COMMIT} refs/heads/main`)(request, response);
    }, 300);
  };
  const callers = Array.from({ length: 8 }, (_, index) => tenants[index % tenants.length]);
  const all = await Promise.all(callers.map((tenant) => heads({}, null, tenant)));
  expect(all).toEqual(Array(8).fill([{ branch: 'main', commit: COMMIT }]));
  expect(most).toBe(processes);
});

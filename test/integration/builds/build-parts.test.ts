import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { generateKeyPairSync, sign } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type PushedImage, pushBaseImage } from '../../cluster/images/base-images.ts';
import { type LocalBuildkit, startBuildkit } from '../../cluster/images/buildkit.ts';
import { crane, writeDockerConfig } from '../../cluster/images/crane.ts';
import { type GitOverHttps, startGitOverHttps } from '../../cluster/images/git-over-https.ts';
import { type LocalRegistry, startRegistry } from '../../cluster/images/registry.ts';
import { FIRST_TIME_MS } from '../../cluster/images/tools.ts';
import { waitFor } from '../../cluster/wait.ts';
import { authority } from '../../unit/cluster/kube/self-signed.ts';
import { leftovers } from '../harness/leftovers.ts';

const run = promisify(execFile);
const TOKEN = 'a-token-of-the-git-host';

let folder: string;
let registry: LocalRegistry;
let buildkit: LocalBuildkit;
let host: GitOverHttps;
let node: PushedImage;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'berth-build-parts-'));
  [registry, host] = await Promise.all([startRegistry(), startGitOverHttps({ token: TOKEN })]);
  buildkit = await startBuildkit({ registries: [{ host: registry.host, http: true }] });
  node = await pushBaseImage('node', registry.host);
  writeFileSync(join(folder, 'ca.pem'), host.ca);
}, FIRST_TIME_MS);
afterAll(async () => {
  await Promise.all([buildkit?.stop(), registry?.stop(), host?.stop()]);
  rmSync(folder, { recursive: true, force: true });
});

/** git as a user would run it, whatever this machine's settings are. */
async function git(...args: string[]): Promise<string> {
  const env = {
    PATH: process.env['PATH'] ?? '',
    GIT_SSL_CAINFO: join(folder, 'ca.pem'),
    GIT_TERMINAL_PROMPT: '0',
    GIT_CONFIG_GLOBAL: '/dev/null',
  };
  const { stdout } = await run('git', args, { env, cwd: folder });
  return stdout.trim();
}

const withToken = (repository: string) => `${host.url.replace('://', `://git:${TOKEN}@`)}/${repository}.git`;

/** Builds a folder and pushes the image; gives the digest that BuildKit names. */
async function build(context: string, ref: string, env?: Record<string, string>): Promise<string> {
  const metadata = join(folder, 'metadata.json');
  const args = [
    'build',
    '--frontend=dockerfile.v0',
    `--local=context=${context}`,
    `--local=dockerfile=${context}`,
    `--output=type=image,name=${ref},push=true`,
    `--metadata-file=${metadata}`,
  ];
  await buildkit.buildctl(args, { env });
  return (
    (JSON.parse(readFileSync(metadata, 'utf8')) as Record<string, string>)['containerimage.digest'] ?? ''
  );
}

function contextWith(name: string, dockerfile: string): string {
  const context = join(folder, name);
  mkdirSync(context, { recursive: true });
  writeFileSync(join(context, 'Dockerfile'), dockerfile);
  return context;
}

describe('the parts of a build', () => {
  test('clone a repository, build its Dockerfile with npm, and push the image that was built', async () => {
    const manifest = { name: 'app', version: '1.0.0', scripts: { build: 'node make.js' } };
    const lock = { name: 'app', version: '1.0.0', lockfileVersion: 3, packages: { '': manifest } };
    const sha = await host.commitFiles('team/app', {
      Dockerfile: [
        `FROM ${node.ref}`,
        'WORKDIR /app',
        'COPY . .',
        'RUN npm ci --offline && npm run build',
        'USER 1000:1000',
        'CMD ["node", "made.js"]',
      ].join('\n'),
      'package.json': JSON.stringify(manifest),
      'package-lock.json': JSON.stringify(lock),
      'make.js': `require('fs').writeFileSync('made.js', 'console.log(' + JSON.stringify(process.version) + ')')`,
    });
    const context = join(folder, 'clone');
    await git('clone', '--quiet', withToken('team/app'), context);
    expect(await git('-C', context, 'rev-parse', 'HEAD')).toBe(sha);

    const ref = `${registry.host}/team/app:${sha}`;
    const digest = await build(context, ref);
    expect(digest).toMatch(/^sha256:[0-9a-f]{64}$/);
    expect(await crane(['digest', ref])).toBe(digest);
    const { config } = JSON.parse(await crane(['config', ref])) as { config: Record<string, unknown> };
    expect(config).toMatchObject({ User: '1000:1000', WorkingDir: '/app', Cmd: ['node', 'made.js'] });
    await crane(['export', ref, join(folder, 'image.tar')]);
    const { stdout } = await run('tar', ['-xOf', join(folder, 'image.tar'), 'app/made.js']);
    expect(stdout).toBe(`console.log("${process.version}")`);
  });

  test('fail with the output of a failed step, and push nothing', async () => {
    const context = contextWith('failing', `FROM ${node.ref}\nRUN echo the reason >&2; exit 3`);
    const ref = `${registry.host}/team/failing:1`;
    await expect(build(context, ref)).rejects.toThrow(/the reason[\s\S]*exit code: 3/);
    await expect(crane(['digest', ref])).rejects.toThrow(/MANIFEST_UNKNOWN|NAME_UNKNOWN|404/);
  });

  test('keep images and cache when registry and BuildKit are killed and restarted', async () => {
    const context = contextWith('again', `FROM ${node.ref}\nRUN head -c 8 /dev/urandom > /drawn`);
    const ref = `${registry.host}/team/again:1`;
    const digest = await build(context, ref);

    await Promise.all([registry.halt('SIGKILL'), buildkit.halt('SIGKILL')]);
    await expect(crane(['digest', ref])).rejects.toThrow();
    await Promise.all([registry.start(), buildkit.start()]);

    expect(await crane(['digest', ref])).toBe(digest);
    // Only the cache can contain this random value.
    expect(await build(context, ref)).toBe(digest);
  });

  test('end a running step when BuildKit is killed, and complete the next build', async () => {
    const ref = `${registry.host}/team/slow:1`;
    const context = contextWith('slow', `FROM ${node.ref}\nRUN exec sleep 86399`);
    const building = build(context, ref).then(
      () => 'built',
      (error: Error) => error.message,
    );
    const steps = async () => (await run('pgrep', ['-f', '^sleep 86399$'])).stdout.trim();
    await waitFor('the step', steps, { timeoutMs: 60_000 });

    await buildkit.halt('SIGKILL');
    expect(await building).toMatch(/failed to run buildctl/);
    await expect(steps()).rejects.toThrow();
    await buildkit.start();
    await build(contextWith('slow', `FROM ${node.ref}\nRUN true`), ref);
  });
});

describe('the git server', () => {
  test('requires its token, and reveals only with it that a repository does not exist', async () => {
    await host.commitFiles('team/private', { 'a.txt': 'a' });
    const from = host.requests.length;
    await expect(git('ls-remote', `${host.url}/team/private.git`)).rejects.toThrow(/could not read Username/);
    await expect(git('ls-remote', withToken('team/none'))).rejects.toThrow(/not found/);
    expect(host.requests.slice(from).map(({ status }) => status)).toEqual([401, 401, 404]);
  });

  test('accepts a push, adds later commits on top, and serves any commit by its id', async () => {
    const first = await host.commitFiles('team/pushed', { 'a.txt': 'a', 'b.txt': 'b' }, { time: 1 });
    const clone = join(folder, 'pushed');
    await git('clone', '--quiet', withToken('team/pushed'), clone);
    const who = ['-c', 'user.name=a', '-c', 'user.email=a@example.com'];
    await git('-C', clone, ...who, 'commit', '--quiet', '--allow-empty', '--message=pushed');
    await git('-C', clone, 'push', '--quiet');
    const pushed = await git('-C', clone, 'rev-parse', 'HEAD');

    const last = await host.commitFiles('team/pushed', { 'a.txt': null, 'd "q"/c.txt': 'c' });
    expect(await host.git('team/pushed', 'rev-parse', `${last}~1`, `${last}~2`)).toBe(`${pushed}\n${first}`);
    expect(await host.git('team/pushed', 'ls-tree', '-r', '-z', '--name-only', 'main')).toBe(
      'b.txt\0d "q"/c.txt\0',
    );
    const orphan = await host.commitFiles('team/pushed', { only: 'x' }, { orphan: true });
    expect(await host.git('team/pushed', 'rev-list', 'main')).toBe(orphan);
    await git('-C', clone, 'fetch', '--quiet', '--depth=1', 'origin', first);
    expect(await git('-C', clone, 'rev-parse', 'FETCH_HEAD')).toBe(first);
  });

  test('can hang, stop, and restart on the same port', async () => {
    await host.commitFiles('team/gone', { 'a.txt': 'a' });
    const listRefs = () => git('ls-remote', withToken('team/gone'), 'main');
    const from = host.requests.length;
    host.hang = true;
    const hanging = listRefs().catch((error: Error) => error.message);
    await waitFor('the request', async () => host.requests.length > from, { timeoutMs: 30_000 });
    await host.halt();
    expect(await hanging).toMatch(/unable to access|failed/);
    await expect(listRefs()).rejects.toThrow(/Couldn't connect|refused/);
    host.hang = false;
    await host.start();
    expect(await listRefs()).toContain('refs/heads/main');
  });
});

describe('a registry with token authentication', () => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const jwks = JSON.stringify({
    keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'k1', use: 'sig', alg: 'ES256' }],
  });
  const encode = (content: object) => Buffer.from(JSON.stringify(content)).toString('base64url');
  let tokens: Server;
  let guarded: LocalRegistry;

  /** A token for what is asked, `repository:<name>:<actions>`, if the password is right. */
  function token(scopes: readonly string[]): string {
    const now = Math.floor(Date.now() / 1000);
    const access = scopes.map((scope) => {
      const [type, name, actions = ''] = scope.split(':');
      return { type, name, actions: actions.split(',') };
    });
    const claims = {
      iss: 'berth',
      aud: 'registry',
      sub: 'test',
      nbf: now - 5,
      iat: now,
      exp: now + 300,
      access,
    };
    const content = `${encode({ typ: 'JWT', alg: 'ES256', kid: 'k1' })}.${encode(claims)}`;
    const signature = sign('sha256', Buffer.from(content), { key: privateKey, dsaEncoding: 'ieee-p1363' });
    return `${content}.${signature.toString('base64url')}`;
  }

  beforeAll(async () => {
    tokens = createServer((request, response) => {
      const wanted = `Basic ${Buffer.from('builder:right').toString('base64')}`;
      if (request.headers.authorization !== wanted) {
        response.writeHead(401).end();
        return;
      }
      const scopes = new URL(request.url ?? '', 'http://127.0.0.1').searchParams.getAll('scope');
      response.end(JSON.stringify({ token: token(scopes.flatMap((scope) => scope.split(' '))) }));
    });
    await new Promise<void>((resolve) => tokens.listen(0, '127.0.0.1', resolve));
    const realm = `http://localhost:${(tokens.address() as AddressInfo).port}/token`;
    guarded = await startRegistry({ auth: { realm, service: 'registry', issuer: 'berth', jwks } });
    await buildkit.halt();
    await buildkit.start([registry, guarded].map((one) => ({ host: one.host, http: true })));
  });
  afterAll(async () => {
    tokens?.close();
    await guarded?.stop();
  });

  const login = (password: string) =>
    writeDockerConfig(join(folder, password), { [guarded.host]: { username: 'builder', password } });

  test('serves images only to clients with the right password', async () => {
    const { ref, digest } = await pushBaseImage('static', guarded.host, { dockerConfig: login('right') });
    expect(await crane(['digest', ref], { dockerConfig: login('right') })).toBe(digest);
    await expect(crane(['digest', ref], { dockerConfig: login('wrong') })).rejects.toThrow(
      /401|UNAUTHORIZED/,
    );
    await expect(crane(['digest', ref])).rejects.toThrow(/401|UNAUTHORIZED/);
  });

  test('accepts pushes of BuildKit only with the right password', async () => {
    const context = contextWith('guarded', `FROM ${node.ref}\nRUN echo guarded > /guarded`);
    const ref = `${guarded.host}/team/guarded:1`;
    await expect(build(context, ref, { DOCKER_CONFIG: login('wrong') })).rejects.toThrow(/401|nauthorized/);
    const digest = await build(context, ref, { DOCKER_CONFIG: login('right') });
    expect(await crane(['digest', ref], { dockerConfig: login('right') })).toBe(digest);
  });
});

test('BuildKit pushes over TLS only to a registry with a certificate of the configured authority', async () => {
  const [vouching, stranger] = [authority(), authority()];
  const secure = await startRegistry({ tls: vouching.issue(['127.0.0.1']) });
  const context = contextWith('secure', 'FROM scratch\nCOPY Dockerfile /');
  const ref = `${secure.host}/team/secure:1`;
  const trusting = async (ca: string) => {
    await buildkit.halt();
    await buildkit.start([
      { host: registry.host, http: true },
      { host: secure.host, ca },
    ]);
  };
  try {
    await trusting(stranger.cert);
    await expect(build(context, ref)).rejects.toThrow(/unknown authority/);
    await trusting(vouching.cert);
    const digest = await build(context, ref);
    expect(await crane(['digest', ref])).toBe(digest);
  } finally {
    await secure.stop();
  }
});

describe('the cleanup', () => {
  test('leaves no process, mount, cgroup or folder after a stop', async () => {
    const [other, builder] = await Promise.all([startRegistry(), startBuildkit()]);
    await builder.buildctl([
      'build',
      '--frontend=dockerfile.v0',
      `--local=context=${folder}`,
      `--local=dockerfile=${contextWith('empty', 'FROM scratch\nCOPY ca.pem /')}`,
    ]);
    await Promise.all([builder.stop(), other.stop()]);
    expect([...leftovers(builder.stateDir), ...leftovers(other.stateDir)]).toEqual([]);
  });

  test('ends all processes when the process that started them is killed', async () => {
    const owner = startOwner();
    const folders = JSON.parse(await firstLine(owner)) as string[];
    expect(folders.map((stateDir) => leftovers(stateDir).length > 0)).toEqual([true, true, true]);
    owner.kill('SIGKILL');
    const rest = () => folders.flatMap(leftovers).filter((found) => !found.startsWith('/sys/fs/cgroup/'));
    await waitFor('their end', async () => rest().length === 0, { timeoutMs: 30_000 });
  });
});

/** A process that starts a registry, BuildKit and a git server, and prints their folders. */
function startOwner(): ChildProcess {
  const parts = join(import.meta.dirname, '..', '..', 'cluster', 'images');
  const script = `
    const { startRegistry } = await import('${parts}/registry.ts');
    const { startBuildkit } = await import('${parts}/buildkit.ts');
    const { startGitOverHttps } = await import('${parts}/git-over-https.ts');
    const started = await Promise.all([startRegistry(), startBuildkit(), startGitOverHttps()]);
    console.log(JSON.stringify(started.map(({ stateDir }) => stateDir)));
    setInterval(() => {}, 1000);`;
  return spawn(process.execPath, ['--input-type=module', '--eval', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}

/** The first line that a process prints. */
async function firstLine(child: ChildProcess): Promise<string> {
  if (!child.stdout) throw new Error('failed to read: the process has no output');
  for await (const line of createInterface({ input: child.stdout })) return line;
  throw new Error('failed to read: the process ended without a line');
}

/**
 * The first step of a build against a real git server: what it fetches, what it rejects, and that the token is sent
 * nowhere else.
 */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import type { IncomingHttpHeaders } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { resultStep } from '../../../../src/cluster/builder/result-step.ts';
import { sourceStep } from '../../../../src/cluster/builder/source-step.ts';
import { StepFailure } from '../../../../src/cluster/builder/step-failure.ts';
import { type GitOverHttps, startGitOverHttps } from '../../../cluster/images/git-over-https.ts';
import { authority } from '../kube/self-signed.ts';

const TOKEN = 'canary-of-the-git-host';
const CONFIG = 'language: node\nversion: "24"\nentrypoint: server.js\n';

let host: GitOverHttps;
let folder: string;
let first: string;
let second: string;
beforeAll(async () => {
  host = await startGitOverHttps({ token: TOKEN });
  first = await host.commitFiles('team/app', { 'berth.yaml': CONFIG, 'server.js': '// one\n' });
  await host.git('team/app', 'tag', 'v1', first);
  await host.git(
    'team/app',
    '-c',
    'user.name=t',
    '-c',
    'user.email=t@t',
    'tag',
    '-a',
    '-m',
    'x',
    'v1-signed',
    first,
  );
  second = await host.commitFiles('team/app', { 'server.js': '// two\n' });
  await host.commitFiles(
    'team/app',
    { 'berth.yaml': CONFIG, 'server.js': '// of the branch\n' },
    { branch: 'feature/x' },
  );
});
afterAll(() => host?.stop());
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'berth-source-'));
  mkdirSync(join(folder, 'credentials'));
  writeFileSync(join(folder, 'credentials/git-username'), 'oauth2');
  writeFileSync(join(folder, 'credentials/git-token'), TOKEN);
  writeFileSync(join(folder, 'ca.pem'), host.ca);
});
afterEach(() => {
  host.token = TOKEN;
  rmSync(folder, { recursive: true, force: true });
});

interface Options {
  repository?: string;
  repoUrl?: string;
  ref?: string;
  commit?: string;
  configPath?: string;
  installCommand?: string;
  allowPrivate?: boolean;
  bytes?: number;
  timeoutMs?: number;
}

/**
 * Runs the step.
 * @returns its log lines
 */
async function source(options: Options = {}): Promise<string[]> {
  const { repository = 'team/app', configPath = 'berth.yaml', allowPrivate = true } = options;
  const lines: string[] = [];
  await sourceStep(
    {
      repoUrl: options.repoUrl ?? `${host.url}/${repository}.git`,
      ref: options.ref,
      commit: options.commit,
      configPath,
      installCommand: options.installCommand,
      workspace: join(folder, 'workspace'),
      credentials: join(folder, 'credentials'),
      limits: { bytes: options.bytes ?? 1e8, timeoutMs: options.timeoutMs ?? 60_000 },
    },
    {
      allowPrivate,
      caFile: join(folder, 'ca.pem'),
      baseImages: { node: 'base/node:{version}', python: 'base/python:{version}' },
      path: process.env['PATH'] ?? '',
    },
    (line) => lines.push(line),
  );
  return lines;
}

async function failure(options: Options): Promise<StepFailure> {
  const error = await source(options).then(
    () => new Error('it did not fail'),
    (cause: unknown) => cause,
  );
  expect(error).toBeInstanceOf(StepFailure);
  return error as StepFailure;
}

const left = (path: string) => readFileSync(join(folder, 'workspace', path), 'utf8');

describe('the source step', () => {
  it('fetches the newest commit of the default branch, without history and without git’s own files', async () => {
    const lines = await source();
    expect(left('commit')).toBe(`${second}\n`);
    expect(left('context/server.js')).toBe('// two\n');
    expect(readdirSync(join(folder, 'workspace')).toSorted()).toEqual(['commit', 'context', 'dockerfile']);
    expect(existsSync(join(folder, 'workspace/context/.git'))).toBe(false);
    expect(lines.join('\n')).not.toContain(TOKEN);
  });

  it.each([
    ['a branch', { ref: 'feature/x' }, '// of the branch\n'],
    ['a tag', { ref: 'refs/tags/v1' }, '// one\n'],
    ['a tag by its short name', { ref: 'v1' }, '// one\n'],
    ['an annotated tag', { ref: 'refs/tags/v1-signed' }, '// one\n'],
  ])('fetches %s', async (_what, options, content) => {
    await source(options);
    expect(left('context/server.js')).toBe(content);
  });

  it('fetches a commit, as ref or from a branch that has newer commits', async () => {
    await source({ ref: first });
    expect(left('context/server.js')).toBe('// one\n');
    await source({ ref: 'main', commit: first });
    expect(left('commit')).toBe(`${first}\n`);
    expect(left('context/server.js')).toBe('// one\n');
  });

  it('fetches a commit deep in the history of its branch, beyond the first fetch', async () => {
    await host.git('team/app', 'branch', 'deep', first);
    const identity = ['-c', 'user.name=t', '-c', 'user.email=t@t'];
    const tree = `${first}^{tree}`;
    let tip = first;
    for (let n = 0; n < 120; n += 1)
      tip = (await host.git('team/app', ...identity, 'commit-tree', '-p', tip, '-m', String(n), tree)).trim();
    await host.git('team/app', 'update-ref', 'refs/heads/deep', tip);
    await source({ ref: 'deep', commit: first });
    expect(left('commit')).toBe(`${first}\n`);
  });

  it('fetches a public repository without credentials', async () => {
    host.token = undefined;
    rmSync(join(folder, 'credentials'), { recursive: true });
    await source();
    expect(left('commit')).toBe(`${second}\n`);
  });

  it('uses the folder of the configuration as context, and prefers its own Dockerfile', async () => {
    await host.commitFiles('team/mono', {
      'other.txt': 'of the root',
      'services/a/berth.yaml': 'anything at all',
      'services/a/Dockerfile': 'FROM scratch\nCOPY . /\n',
      'services/a/.dockerignore': 'tests\n',
    });
    const lines = await source({
      repository: 'team/mono',
      configPath: 'services/a/berth.yaml',
      installCommand: 'make',
    });
    expect(left('dockerfile/Dockerfile')).toBe('FROM scratch\nCOPY . /\n');
    expect(readdirSync(join(folder, 'workspace/dockerfile'))).toEqual(['Dockerfile']);
    expect(readdirSync(join(folder, 'workspace/context')).toSorted()).toEqual([
      '.dockerignore',
      'Dockerfile',
      'berth.yaml',
    ]);
    expect(lines.join('\n')).toContain('install_command and build_command have no effect with a Dockerfile');
  });
});

describe('the checks of the source step', () => {
  it.each([
    ['a missing branch', { ref: 'nope' }, 'RefNotFound', 'no branch, tag or commit nope'],
    ['a short commit', { ref: 'abc1234' }, 'RefNotFound', 'set the full id of 40 digits'],
    ['a missing commit', { commit: 'a'.repeat(40) }, 'RefNotFound', 'a'.repeat(40)],
    ['a missing repository', { repository: 'team/nope' }, 'GitHostRefused', 'status 404'],
    [
      'a missing configuration',
      { configPath: 'x.yaml' },
      'BuildConfigInvalid',
      'similar files exist: berth.yaml',
    ],
    [
      'a configuration below a file',
      { configPath: 'berth.yaml/x.yaml' },
      'BuildConfigInvalid',
      'berth.yaml/x.yaml (workflow_config_path) is not in the repository',
    ],
    ['an http URL', { repoUrl: 'http://127.0.0.1/x' }, 'GitHostRefused', 'must be an https URL'],
    ['a file URL', { repoUrl: 'file:///etc' }, 'GitHostRefused', 'must be an https URL'],
    ['a remote helper', { repoUrl: 'ext::sh -c id' }, 'GitHostRefused', 'must be an https URL'],
    ['a private address', { allowPrivate: false }, 'GitHostRefused', 'private address'],
    ['a repository beyond the fetch limit', { bytes: 10 }, 'BuildTooLarge', 'limit for builds'],
  ])('reject %s', async (_what, options, reason, message) => {
    const error = await failure(options);
    expect(error.message).toContain(message);
    expect(error.reason).toBe(reason);
    expect(error.message).not.toContain(TOKEN);
  });

  /** A commit of a few hundred bytes with an astronomic number of paths: ten levels of ten times the same folder. */
  async function bomb(repository: string, mode: string, leaf: string): Promise<string> {
    let entry = Buffer.concat([Buffer.from(`${mode} x\0`), Buffer.from(leaf, 'hex')]);
    let tree = '';
    for (let level = 0; level < 10; level += 1) {
      const file = join(folder, `tree-${level}`);
      writeFileSync(file, entry);
      tree = (await host.git(repository, 'hash-object', '-w', '-t', 'tree', file)).trim();
      const named = (name: number) =>
        Buffer.concat([Buffer.from(`40000 ${name}\0`), Buffer.from(tree, 'hex')]);
      entry = Buffer.concat(Array.from({ length: 10 }, (_, name) => named(name)));
    }
    const who = ['-c', 'user.name=t', '-c', 'user.email=t@t'];
    return (await host.git(repository, ...who, 'commit-tree', '-m', 'bomb', tree)).trim();
  }

  it.each(['files', 'folders'])(
    'reject a small repository with an enormous number of %s before they are all counted',
    async (what) => {
      const repository = `team/bomb-${what}`;
      const commit = await host.commitFiles(repository, { 'berth.yaml': CONFIG });
      const blob = (await host.git(repository, 'rev-parse', `${commit}:berth.yaml`)).trim();
      const empty = join(folder, 'empty');
      writeFileSync(empty, '');
      const none = (await host.git(repository, 'hash-object', '-w', '-t', 'tree', empty)).trim();
      const made =
        what === 'files' ? await bomb(repository, '100644', blob) : await bomb(repository, '40000', none);
      await host.git(repository, 'update-ref', 'refs/heads/main', made);
      const error = await failure({ repository });
      expect(error.reason).toBe('BuildTooLarge');
      expect(error.message).toContain('the limit for builds is 200000 files');
    },
  );

  it('reject an entrypoint that is not in the repository when no command of the build could create it', async () => {
    await host.commitFiles('team/typo', { 'berth.yaml': CONFIG, 'Server.js': '', 'package.json': '{}' });
    const error = await failure({ repository: 'team/typo' });
    expect(error.reason).toBe('BuildConfigInvalid');
    expect(error.message).toBe(
      'berth.yaml is invalid: entrypoint: there is no file server.js in the repository; similar files exist: Server.js',
    );
    // An entrypoint that the build must create is checked after the build.
    await host.commitFiles('team/typo', { 'berth.yaml': `${CONFIG}build: npm run build\n` });
    await source({ repository: 'team/typo' });
    expect(left('dockerfile/Dockerfile')).toContain('neither the repository nor the build has the file');
  });

  it('reject a commit that is not on the branch, such as that of a fork, although the host serves it', async () => {
    const commit = (await host.git('team/app', 'rev-parse', 'feature/x')).trim();
    const error = await failure({ commit });
    expect(error.reason).toBe('RefNotFound');
    expect(error.message).toContain(`commit ${commit} is not in the history of the default branch`);
    expect(existsSync(join(folder, 'workspace/context'))).toBe(false);
  });

  it('reject a commit that a force push removed from its branch', async () => {
    const before = await host.commitFiles('team/forced', { 'berth.yaml': CONFIG });
    const away = await host.commitFiles('team/forced', { 'server.js': '// away\n' });
    await host.git('team/forced', 'update-ref', 'refs/heads/main', before);
    const error = await failure({ repository: 'team/forced', ref: 'main', commit: away });
    expect(error.message).toContain('a force push removed it, or it is on another branch');
  });

  it('reject a wrong token', async () => {
    host.token = 'another';
    const error = await failure({});
    expect(error.reason).toBe('GitHostRefused');
    expect(error.message).toContain('status 401');
  });

  it('reject a name that resolves to a private address', async () => {
    const error = await failure({
      repoUrl: `https://localhost:${host.port}/team/app.git`,
      allowPrivate: false,
    });
    expect(error.message).toBe(
      'localhost has a private address, and this installation does not call private addresses',
    );
  });

  it('reject a configuration or Dockerfile that is a link to a file outside the repository', async () => {
    const link = (content: string) => ({ content, mode: '120000' as const });
    await host.commitFiles('team/links', {
      'etc.yaml': link('/etc/passwd'),
      'up.yaml': link('../../../../etc/passwd'),
      'inside.yaml': link('deep/berth.yaml'),
      'deep/berth.yaml': CONFIG,
      'server.js': '',
      'docker/berth.yaml': CONFIG,
      'docker/Dockerfile': link('/etc/passwd'),
      folder: link('/etc'),
    });
    for (const configPath of ['etc.yaml', 'up.yaml', 'docker/berth.yaml', 'folder/passwd']) {
      const error = await failure({ repository: 'team/links', configPath });
      expect(error.reason).toBe('BuildConfigInvalid');
      expect(error.message).toContain('leads out of the repository');
    }
    await source({ repository: 'team/links', configPath: 'inside.yaml' });
    expect(left('dockerfile/Dockerfile')).toContain('base/node:24');
  });

  it('keep hooks, filters and drivers of the repository from running', async () => {
    const ran = join(folder, 'ran');
    await host.commitFiles('team/evil', {
      'berth.yaml': CONFIG,
      'server.js': '',
      '.gitattributes': '* filter=evil\n',
      '.gitconfig': `[filter "evil"]\nsmudge = touch ${ran}\n`,
      'hooks/post-checkout': { content: `#!/bin/sh\ntouch ${ran}\n`, mode: '100755' },
      '.gitmodules': '[submodule "x"]\npath = x\nurl = ext::sh -c "touch /tmp/x"\n',
    });
    await source({ repository: 'team/evil' });
    expect(existsSync(ran)).toBe(false);
  });

  it('report a host that does not respond as unavailable after the timeout', async () => {
    host.hang = true;
    try {
      const error = await failure({ timeoutMs: 300 });
      expect(error.reason).toBe('GitHostUnavailable');
      expect(error.message).toContain('no response within the time limit');
    } finally {
      host.hang = false;
    }
  });
});

describe('a Procfile', () => {
  const PROCFILE = 'web: node server.js\nworker: node worker.js\n';
  const files = { 'svc/berth.yaml': CONFIG, 'svc/server.js': '', 'svc/Procfile': PROCFILE };
  const result = () => {
    const metadata = { 'containerimage.digest': `sha256:${'d'.repeat(64)}` };
    writeFileSync(join(folder, 'workspace/metadata.json'), JSON.stringify(metadata));
    return resultStep(join(folder, 'workspace'));
  };

  it('is read from the folder of the configuration, and is part of the result of the build', async () => {
    await host.commitFiles('team/procfile', files);
    const lines = await source({ repository: 'team/procfile', configPath: 'svc/berth.yaml' });
    expect(lines).toContain('using the commands of svc/Procfile: web, worker');
    expect(result().procfile).toEqual({ web: 'node server.js', worker: 'node worker.js' });
    // It stays in the context, because the app may need it.
    expect(left('context/Procfile')).toBe(PROCFILE);
    // A Procfile of another folder, and that of the previous run, have no effect.
    await host.commitFiles('team/procfile', { 'berth.yaml': CONFIG, 'server.js': '' });
    await source({ repository: 'team/procfile' });
    expect(result()).not.toHaveProperty('procfile');
  });

  it('fails the build with its line when it is invalid', async () => {
    await host.commitFiles('team/bad', { ...files, 'svc/Procfile': 'web: a\nclock: b\n' });
    const error = await failure({ repository: 'team/bad', configPath: 'svc/berth.yaml' });
    expect([error.reason, error.message]).toEqual([
      'BuildConfigInvalid',
      'svc/Procfile is invalid: line 2: "clock" is not one of web, worker, release',
    ]);
  });

  it('fails the build when its name has another case', async () => {
    const { 'svc/Procfile': _, ...others } = files;
    await host.commitFiles('team/lower', { ...others, 'svc/procfile': PROCFILE });
    const { reason, message } = await failure({ repository: 'team/lower', configPath: 'svc/berth.yaml' });
    expect([reason, message]).toEqual([
      'BuildConfigInvalid',
      'the name of a Procfile must be Procfile, with this case; similar files exist: svc/procfile',
    ]);
  });

  it('is named in the log when it is above the build context and has no effect', async () => {
    const config = { 'apps/svc/berth.yaml': CONFIG, 'apps/svc/server.js': '' };
    const misplaced =
      'warning: Procfile is not used, because the build context is apps/svc; Berth reads only apps/svc/Procfile';
    await host.commitFiles('team/above', { ...config, Procfile: PROCFILE });
    const lines = await source({ repository: 'team/above', configPath: 'apps/svc/berth.yaml' });
    expect(lines).toContain(misplaced);
    expect(result()).not.toHaveProperty('procfile');
    // The app has its own Procfile, so that of the root may be for another app.
    await host.commitFiles('team/above', { 'apps/svc/Procfile': PROCFILE });
    const own = await source({ repository: 'team/above', configPath: 'apps/svc/berth.yaml' });
    expect(own).not.toContain(misplaced);
    expect(result()).toHaveProperty('procfile');
  });

  it('is rejected when it is too large, a folder, or a link to a file outside the repository', async () => {
    const link = { content: '/etc/passwd', mode: '120000' as const };
    await host.commitFiles('team/large', { ...files, 'svc/Procfile': `#${'x'.repeat(70_000)}` });
    await host.commitFiles('team/linked', { ...files, 'svc/Procfile': link });
    const { 'svc/Procfile': _, ...others } = files;
    await host.commitFiles('team/folder', { ...others, 'svc/Procfile/a': 'x' });
    for (const [repository, expected] of [
      ['team/large', 'more than the limit of 65536'],
      ['team/linked', 'is a link that leads out of the repository'],
      ['team/folder', 'is not a file'],
    ]) {
      const { reason, message } = await failure({ repository, configPath: 'svc/berth.yaml' });
      expect([reason, message]).toEqual(['BuildConfigInvalid', expect.stringContaining(expected ?? '')]);
    }
  });
});

describe('the history of a branch', () => {
  it('causes GitHostUnavailable when it does not arrive in time', async () => {
    let visits = 0;
    // The first two requests find the repository and the newest commit; the third is for the history.
    host.hang = ({ path }) => {
      if (path.includes('/info/refs')) visits += 1;
      return visits >= 3;
    };
    try {
      // In this time, git makes the first two requests also on a busy machine.
      const error = await failure({ ref: 'main', commit: first, timeoutMs: 12_000 });
      expect(error.reason).toBe('GitHostUnavailable');
      expect(visits).toBe(3);
    } finally {
      host.hang = false;
    }
  });
});

describe('a redirect to another host', () => {
  let elsewhere: Server;
  let port: number;
  const seen: IncomingHttpHeaders[] = [];
  let location = '';
  beforeAll(async () => {
    const vouching = authority();
    elsewhere = createServer(vouching.issue(['127.0.0.1']), (request, response) => {
      seen.push(request.headers);
      if (request.headers.authorization === undefined) {
        response.writeHead(401, { 'www-authenticate': 'Basic realm="x"' }).end();
      } else response.writeHead(301, { location }).end();
    });
    await new Promise<void>((resolve) => elsewhere.listen(0, '127.0.0.1', resolve));
    port = (elsewhere.address() as AddressInfo).port;
    writeFileSync(join(tmpdir(), `berth-source-${process.pid}.pem`), vouching.cert);
  });
  afterAll(() => {
    rmSync(join(tmpdir(), `berth-source-${process.pid}.pem`));
    elsewhere.close();
    elsewhere.closeAllConnections();
  });

  it('is rejected, and the token is not sent there', async () => {
    const requests = host.requests.length;
    location = `${host.url}/team/app.git/info/refs?service=git-upload-pack`;
    const ca = [
      readFileSync(join(folder, 'ca.pem')),
      readFileSync(join(tmpdir(), `berth-source-${process.pid}.pem`)),
    ];
    writeFileSync(join(folder, 'ca.pem'), Buffer.concat(ca));
    const error = await failure({ repoUrl: `https://127.0.0.1:${port}/team/app` });
    expect(error.reason).toBe('GitHostRefused');
    expect(error.message).toContain('has moved to another host');
    expect(host.requests.length).toBe(requests);
    expect(seen.at(-1)?.authorization).toMatch(/^Basic /);
  });
});

import { type ChildProcess, spawn } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';

let project: string;
beforeEach(() => {
  project = mkdtempSync(join(tmpdir(), 'bootstrap-'));
  mkdirSync(join(project, 'scripts'));
  mkdirSync(join(project, 'bin'));
  copyFileSync('scripts/bootstrap.mjs', join(project, 'scripts', 'bootstrap.mjs'));
  lockFile('1.0.0');
  writeFileSync(
    join(project, 'hello.ts'),
    'console.log("hello", process.argv.slice(2).join("+") as string);',
  );
  executable(join(project, 'bin', 'npm'), npmCi);
});
afterEach(() => rmSync(project, { recursive: true }));

/** A stand-in for npm that installs a Node of its own, and nothing for "rebuild". */
const npmCi = `#!/bin/sh
echo "$1" >> "$CALLS"
if [ "$1" = ci ]; then
  echo "npm talks on standard output"
  mkdir -p node_modules/.bin
  cp package-lock.json node_modules/.package-lock.json
  ln -sf "$REAL_NODE" node_modules/.bin/node
fi
`;

function executable(path: string, content: string): void {
  writeFileSync(path, content);
  chmodSync(path, 0o755);
}

function lockFile(version: string, more: object = {}): void {
  const packages = {
    ...more,
    '': { name: 'project' },
    'node_modules/thing': { version, integrity: `sha512-${version}` },
    'node_modules/for-another-platform': { version: '1.0.0', optional: true },
  };
  writeFileSync(join(project, 'package-lock.json'), JSON.stringify({ packages }));
}

function start(args: string[]): ChildProcess {
  return spawn(process.execPath, [join(project, 'scripts', 'bootstrap.mjs'), ...args], {
    cwd: project,
    env: {
      PATH: `${join(project, 'bin')}:/usr/bin:/bin`,
      CALLS: join(project, 'calls'),
      REAL_NODE: process.execPath,
    },
  });
}

async function finish(child: ChildProcess) {
  let stdout = '';
  let stderr = '';
  child.stdout?.on('data', (chunk: Buffer) => {
    stdout += chunk.toString();
  });
  child.stderr?.on('data', (chunk: Buffer) => {
    stderr += chunk.toString();
  });
  const [code, signal] = await new Promise<[number | null, NodeJS.Signals | null]>((resolve) => {
    child.once('close', (...result) => resolve(result));
  });
  return { code, signal, stdout, stderr };
}

const run = (...args: string[]) => finish(start(args));
const calls = () =>
  existsSync(join(project, 'calls')) ? readFileSync(join(project, 'calls'), 'utf8').split('\n') : [];

describe('packages', () => {
  test('are installed when they are missing, and only the script writes to standard output', async () => {
    const { code, stdout, stderr } = await run('hello.ts', 'a', '--b');
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'hello a+--b\n' });
    expect(stderr).toContain('npm ci');
    expect(calls()).toEqual(['ci', '']);
  });

  test('are not installed again', async () => {
    await run('hello.ts');
    const { stdout, stderr } = await run('hello.ts');
    expect({ stdout, stderr }).toEqual({ stdout: 'hello \n', stderr: '' });
    expect(calls()).toEqual(['ci', '']);
  });

  test('are installed again when package-lock.json lists other packages', async () => {
    await run('hello.ts');
    lockFile('2.0.0');
    await run('hello.ts');
    expect(calls()).toEqual(['ci', 'ci', '']);
  });

  test.each([
    ['ci', { 'node_modules/thing/node_modules/native': { version: '1.0.0', optional: true } }],
    ['install', {}],
  ])(
    'are installed with npm %s, depending on whether the lock file covers every platform',
    async (command, more) => {
      const wanting = {
        version: '1.0.0',
        integrity: 'sha512-1.0.0',
        optionalDependencies: { native: '1.0.0' },
      };
      lockFile('1.0.0', more);
      const path = join(project, 'package-lock.json');
      const lock = JSON.parse(readFileSync(path, 'utf8'));
      lock.packages['node_modules/thing'] = wanting;
      writeFileSync(path, JSON.stringify(lock));
      executable(join(project, 'bin', 'npm'), npmCi.replace('= ci', `= ${command}`));
      expect((await run('hello.ts')).code).toBe(0);
      expect(calls()).toEqual([command, '']);
    },
  );

  test('are installed once when two scripts start at the same time', async () => {
    const [first, second] = await Promise.all([run('hello.ts'), run('hello.ts')]);
    expect([first.code, second.code]).toEqual([0, 0]);
    expect(calls()).toEqual(['ci', '']);
  });

  test('are installed while a helper runs with the same arguments', async () => {
    const helper = join(project, 'helper.mjs');
    const output = join(project, 'helped');
    const append = `import { appendFileSync } from 'node:fs';
appendFileSync(${JSON.stringify(output)}, process.argv.slice(2).join('+') + '\\n');`;
    writeFileSync(helper, append);
    const { stdout } = await run('--meanwhile', helper, 'hello.ts', 'a', '--b');
    expect(stdout).toBe('hello a+--b\n');
    await vi.waitFor(() => expect(readFileSync(output, 'utf8')).toBe('a+--b\n'), 10_000);
    // Nothing to install, so no helper.
    await run('--meanwhile', helper, 'hello.ts', 'again');
    expect(readFileSync(output, 'utf8')).toBe('a+--b\n');
  });

  test('that cannot be installed cause an error with the next step', async () => {
    executable(join(project, 'bin', 'npm'), '#!/bin/sh\necho "no network" >&2\nexit 7\n');
    const { code, stderr } = await run('hello.ts');
    expect(code).toBe(1);
    expect(stderr).toMatch(/no network.*npm ended with 7.*registry is reachable/s);
  });
});

test('runs the install scripts that npm skipped', async () => {
  const blocked = `#!/bin/sh
echo "$1" >> "$CALLS"
mkdir -p node_modules/.bin node_modules/node
cp package-lock.json node_modules/.package-lock.json
if [ "$1" = rebuild ]; then ln -sf "$REAL_NODE" node_modules/.bin/node; fi
`;
  executable(join(project, 'bin', 'npm'), blocked);
  const { stdout } = await run('hello.ts');
  expect(stdout).toBe('hello \n');
  expect(calls()).toEqual(['ci', 'rebuild', '']);
});

describe('the script', () => {
  test('returns its exit code', async () => {
    writeFileSync(join(project, 'exit.ts'), 'process.exit(3 as number);');
    expect((await run('exit.ts')).code).toBe(3);
  });

  test('receives signals', async () => {
    const script = `process.on('SIGTERM', () => { console.log('asked to stop'); process.exit(5); });
setInterval(() => {}, 1000);
console.log('ready');`;
    writeFileSync(join(project, 'wait.ts'), script);
    const child = start(['wait.ts']);
    child.stdout?.on('data', (chunk: Buffer) => {
      if (chunk.toString().includes('ready')) child.kill('SIGTERM');
    });
    expect(await finish(child)).toMatchObject({ code: 5, stdout: 'ready\nasked to stop\n' });
  });

  test('must be named', async () => {
    const { code, stderr } = await run();
    expect(code).toBe(1);
    expect(stderr).toContain('usage:');
  });
});

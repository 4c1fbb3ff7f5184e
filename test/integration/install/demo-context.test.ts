/** `npm run demo` with a kubeconfig whose current context responds. It compiles nothing. */
import { type ChildProcess, spawn } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, inject, test } from 'vitest';
import { kubectl } from '../../cluster/kubectl.ts';

const script = fileURLToPath(new URL('../../../scripts/demo.ts', import.meta.url));
const { kubeconfigPath, kubectlPath, databaseUrl } = inject('environment');
const access = { kubeconfigPath, kubectlPath };

let folder: string;
let demo: ChildProcess | undefined;
beforeEach(() => {
  folder = mkdtempSync(join(realpathSync(tmpdir()), 'berth-demo-context-'));
  mkdirSync(join(folder, 'bin'));
  symlinkSync(kubectlPath, join(folder, 'bin', 'kubectl'));
  writeFileSync(join(folder, 'bin', 'go'), `#!/bin/sh\necho "$*" >> '${join(folder, 'go-calls')}'\nexit 1\n`);
  chmodSync(join(folder, 'bin', 'go'), 0o755);
});
afterEach(() => {
  demo?.kill('SIGKILL');
  rmSync(folder, { recursive: true });
});

/** A kubeconfig of the test's cluster, whose context has this name. */
async function kubeconfig(context: string): Promise<string> {
  const config = JSON.parse(
    await kubectl(access, ['config', 'view', '--raw', '--minify', '--flatten', '--output=json']),
  ) as { contexts: [{ name: string }]; 'current-context': string };
  config.contexts[0].name = context;
  config['current-context'] = context;
  const path = join(folder, 'kubeconfig');
  writeFileSync(path, JSON.stringify(config), { mode: 0o600 });
  return path;
}

/** Runs the demo without any program of a local cluster, except for kubectl and a go that fails. */
async function run(config: string, ...args: string[]): Promise<{ code: number | null; output: string }> {
  const child = spawn(process.execPath, [script, ...args], {
    cwd: folder,
    env: {
      PATH: `${join(folder, 'bin')}:/usr/bin:/bin`,
      HOME: folder,
      XDG_CACHE_HOME: join(folder, 'cache'),
      KUBECONFIG: config,
      DATABASE_URL: databaseUrl,
    },
  });
  demo = child;
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      output += chunk;
    });
  }
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  return { code, output };
}

const goCalls = () =>
  existsSync(join(folder, 'go-calls')) ? readFileSync(join(folder, 'go-calls'), 'utf8') : '';

test('prints both ways and ends when the current context responds', async () => {
  const config = await kubeconfig('the-cluster');
  const { code, output } = await run(config);
  expect({ code, output }).toMatchObject({
    code: 0,
    output: expect.stringMatching(
      /context the-cluster of your kubeconfig responds.*demo -- --context the-cluster\n.*demo -- --local\n/s,
    ),
  });
  expect(output).not.toContain('starting');
  expect(goCalls()).toBe('');
  // A script that waits for the samples must not continue.
  expect((await run(config, '--exit')).code).toBe(1);
});

test('uses the cluster when --context names it, and removes its deployments at the end', async () => {
  const config = await kubeconfig('the-cluster');
  const { code, output } = await run(
    config,
    '--context',
    'the-cluster',
    '--exit',
    '--port',
    '0',
    '--timeout',
    '150',
  );
  expect(output).toMatch(/using the cluster of the context the-cluster/);
  expect(output).toMatch(/READY .*latest revision is active/);
  expect(output).toContain("kubectl --context 'the-cluster' delete");
  expect(code).toBe(0);
  expect(goCalls()).toBe('');
  expect(await kubectl(access, ['get', 'mdep', '-n', 'berth-demo', '-o', 'name'])).toBe('');
  await kubectl(access, ['delete', 'namespace', 'berth-demo', '--wait=false']);
}, 300_000);

test('names the contexts that do not exist when --context is wrong', async () => {
  const { code, output } = await run(await kubeconfig('the-cluster'), '--context', 'other', '--port', '0');
  expect({ code, output }).toMatchObject({
    code: 1,
    output: expect.stringMatching(/failed to use the context other: .*kubectl config get-contexts/s),
  });
});

test('builds when no API server responds', async () => {
  const config = await kubeconfig('the-cluster');
  const content = JSON.parse(readFileSync(config, 'utf8')) as { clusters: [{ cluster: { server: string } }] };
  content.clusters[0].cluster.server = 'https://127.0.0.1:1';
  writeFileSync(config, JSON.stringify(content));
  const { code, output } = await run(config, '--port', '0');
  expect(output).toMatch(/Needs a build of kube-apiserver, .*, once \(about \d+ min with \d+ processors\)/);
  expect(goCalls()).toMatch(/^list /);
  expect(code).toBe(1);
});

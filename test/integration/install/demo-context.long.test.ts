/** `npm run demo` with a kubeconfig whose current context responds. It compiles nothing. The cluster has no Berth at first. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, beforeEach, expect, inject, test } from 'vitest';
import { FEW_COLLECTIONS, type LocalCluster, startCluster } from '../../cluster/cluster.ts';
import { type KubectlAccess, kubectl } from '../../cluster/kubectl.ts';
import { installedObjects } from '../../installation/install.ts';

const script = fileURLToPath(new URL('../../../scripts/demo.ts', import.meta.url));
const { kubectlPath, databaseUrl } = inject('environment');

let cluster: LocalCluster;
let access: KubectlAccess;
beforeAll(async () => {
  cluster = await startCluster({ ...FEW_COLLECTIONS, log: () => undefined, fsync: false });
  access = { kubeconfigPath: cluster.kubeconfigPath, kubectlPath };
});
afterAll(() => cluster?.stop());

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

/** Changes the server of a kubeconfig. */
function pointTo(server: string, config: string): void {
  const content = JSON.parse(readFileSync(config, 'utf8')) as { clusters: [{ cluster: { server: string } }] };
  content.clusters[0].cluster.server = server;
  writeFileSync(config, JSON.stringify(content));
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

/** Every object that could belong to Berth, and every namespace. */
async function objectsOfBerth(): Promise<string[]> {
  const kinds = 'crds,namespaces,clusterroles,clusterrolebindings';
  const names = (await kubectl(access, ['get', kinds, '-o', 'name'])).split('\n');
  return names.filter((name) => name.includes('berth') || name.startsWith('namespace/'));
}

/** Objects that another user has created, and what the refusal says about them. */
const TAKEN: readonly [string, object, RegExp][] = [
  [
    'runs Berth in another namespace',
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'api', namespace: 'default', labels: { 'app.kubernetes.io/name': 'berth' } },
      spec: {
        replicas: 0,
        selector: { matchLabels: { app: 'berth' } },
        template: {
          metadata: { labels: { app: 'berth' } },
          spec: { containers: [{ name: 'api', image: 'registry.example/berth:1' }] },
        },
      },
    },
    /already runs Berth \(Deployment default\/api\)/,
  ],
  [
    'has the definition of another installation',
    installedObjects().find(({ kind }) => kind === 'CustomResourceDefinition') ?? {},
    /another installation of Berth \(CustomResourceDefinition manageddeployments\.berth\.dev\)/,
  ],
  [
    'has a namespace with the name of the samples',
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'berth-demo' } },
    /another installation of Berth \(Namespace berth-demo\)/,
  ],
];

test.each(TAKEN)('refuses the cluster and changes nothing when it %s', async (_what, object, reason) => {
  const text = JSON.stringify(object);
  await kubectl(access, ['apply', '--server-side', '-f', '-'], text);
  try {
    const before = await objectsOfBerth();
    const applied = await kubectl(access, ['get', '-f', '-', '-o', 'json'], text);
    const words = ['--context', 'the-cluster', '--exit', '--port', '0'];
    const { code, output } = await run(await kubeconfig('the-cluster'), ...words);
    expect({ code, output }).toMatchObject({ code: 1, output: expect.stringMatching(reason) });
    expect(output).toContain('use a local one: npm run demo -- --local');
    expect(output).toContain('stopped; the cluster was not changed');
    expect(output).not.toMatch(/database|delete/);
    expect(await objectsOfBerth()).toEqual(before);
    expect(await kubectl(access, ['get', '-f', '-', '-o', 'json'], text)).toBe(applied);
  } finally {
    await kubectl(access, ['delete', '-f', '-'], text);
  }
});

test('uses the cluster that the options name, and prints commands that remove exactly what it has created', async () => {
  const before = await objectsOfBerth();
  const given = await kubeconfig("it's mine");
  const named = join(folder, "o'neill");
  renameSync(given, named);
  // The current context is another cluster, which does not respond.
  const other = await kubeconfig('other');
  pointTo('https://127.0.0.1:1', other);
  const words = ['--kubeconfig', named, '--context', "it's mine"];
  const { code, output } = await run(other, ...words, '--exit', '--port', '0', '--timeout', '150');
  expect(output).toMatch(/using the cluster of the context it's mine/);
  expect(output).toMatch(/READY .*latest revision is active/);
  expect(code, output).toBe(0);
  expect(goCalls()).toBe('');
  expect(await kubectl(access, ['get', 'mdep', '-A', '-o', 'name'])).toBe('');

  // Another run uses what this one has left.
  const again = await run(other, '--kubeconfig', named, '--samples', 'none', '--exit', '--port', '0');
  expect(again).toMatchObject({
    code: 0,
    output: expect.stringContaining(`--context 'it'\\''s mine' delete`),
  });

  const commands = output.split('\n').filter((line) => /^ +kubectl .* delete /.test(line));
  const env = { PATH: `${join(folder, 'bin')}:/usr/bin:/bin`, HOME: folder, KUBECONFIG: other };
  execFileSync('sh', ['-euc', commands.join('\n')], { env });
  expect(await objectsOfBerth()).toEqual(before);
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
  pointTo('https://127.0.0.1:1', config);
  const { code, output } = await run(config, '--port', '0');
  expect(output).toMatch(/Needs a build of kube-apiserver, .*, once \(about \d+ min with \d+ processors\)/);
  expect(goCalls()).toMatch(/^list /);
  expect(code).toBe(1);
});

test('exits with 2 when the options are wrong', async () => {
  const { code, output } = await run(await kubeconfig('the-cluster'), '--local', '--real-node');
  expect({ code, output }).toMatchObject({
    code: 2,
    output: expect.stringMatching(
      /^--local cannot be combined with --real-node.*\nsee: npm run demo -- --help\n$/,
    ),
  });
});

/** The commands of docs/install.md for two releases in one cluster. They run, but Helm only renders what it would install. */
import { execFile } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';
import { CHART } from '../../../scripts/manifests.ts';
import { PLATFORM_LISTENER_ID } from '../../../src/domain/deployment/source.ts';
import { resolveHelm } from '../../cluster/helm.ts';
import { root, shellBlocks, textOf } from '../../docs/pages.ts';
import { helm } from '../../installation/helm.ts';
import { VERSION } from '../../installation/version.ts';
import { named, parsed, podsOf, type Rendered, set } from '../harness/chart.ts';
import { environment } from '../harness/environment.ts';

const [, section = ''] =
  /^### Two releases in one cluster\n([\s\S]*?)^## /m.exec(textOf('docs/install.md')) ?? [];
const [twoHubs, oneHub, takeOver] = shellBlocks(section, 'docs/install.md').map(({ text }) => text);
const LISTENER_ID = '01920000-0000-7000-8000-000000000002';

/** What the commands of a block send to kubectl, one line each, and the objects that they install by release. */
async function run(block = ''): Promise<{ kubectl: string[]; releases: Record<string, Rendered[]> }> {
  const folder = mkdtempSync(join(tmpdir(), 'berth-two-releases-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const program = (name: string, text: string) => {
    writeFileSync(join(folder, name), `#!/bin/sh\n${text}\n`);
    chmodSync(join(folder, name), 0o755);
  };
  program('kubectl', `echo "$*" >> "${folder}/calls"`);
  program(
    'helm',
    `shift; "${await resolveHelm()}" template "$@" > "${folder}/$1.yaml" && echo "$1" >> "${folder}/releases"`,
  );
  // The chart of a release is the chart of this checkout.
  const script = `set -eu\n${block.replaceAll(`berth-chart-${VERSION}.tgz`, CHART)}`;
  const env = { ...process.env, PATH: `${folder}${delimiter}${process.env['PATH']}` };
  const variables = { LISTENER_ID, LISTENER_KEY: 'key', HUB_URL: 'https://berth.example' };
  await promisify(execFile)('sh', ['-c', script], { cwd: root, env: { ...env, ...variables } });
  const lines = (file: string) => readFileSync(join(folder, file), 'utf8').trimEnd().split('\n');
  return {
    kubectl: lines('calls'),
    releases: Object.fromEntries(
      lines('releases').map((name) => [name, parsed(readFileSync(join(folder, `${name}.yaml`), 'utf8'))]),
    ),
  };
}

const kinds = (objects: Rendered[] = []) => new Set(objects.map(({ kind }) => kind));
/** Namespaces of the Roles of a release. */
const namespacesOf = (objects: Rendered[] = []) =>
  new Set(objects.filter(({ kind }) => kind === 'Role').map(({ metadata }) => metadata.namespace));
const config = (objects: Rendered[] = []) => objects.find(({ kind }) => kind === 'ConfigMap')?.data ?? {};
/** Keys of a Secret without which a pod of the release does not start. */
const neededKeys = (objects: Rendered[] = []) => {
  const references = podsOf(objects)
    .flatMap(({ spec }) => spec.containers)
    .flatMap(({ env = [] }) => env.flatMap(({ valueFrom }) => valueFrom?.secretKeyRef ?? []));
  const needed = (references as { name: string; key: string; optional?: boolean }[]).filter(
    ({ optional }) => optional !== true,
  );
  expect(needed.every(({ name }) => name === 'berth')).toBe(true);
  return new Set(needed.map(({ key }) => key));
};
/** The command that creates the Secret of a namespace. */
const secretOf = (kubectl: readonly string[], namespace: string) =>
  kubectl.find((line) => line.startsWith(`-n ${namespace} create secret generic berth `)) ?? '';

it('gives each of two releases a namespace, a database, keys and namespaces of its own when its commands run', async () => {
  const { kubectl, releases } = await run(twoHubs);
  expect(Object.keys(releases)).toEqual(['one', 'two']);
  for (const [name, own] of [
    ['one', 'shop'],
    ['two', 'search'],
  ] as const) {
    const objects = releases[name];
    expect(kubectl).toContain(`create namespace berth-${name}`);
    const secret = secretOf(kubectl, `berth-${name}`);
    expect(secret).toContain(`postgres.example/berth_${name}?`);
    for (const key of neededKeys(objects)) expect(secret, name).toContain(`--from-literal=${key}=`);
    expect(namespacesOf(objects)).toEqual(new Set([own, `berth-${name}`]));
    expect(config(objects)['BERTH_NAMESPACES']).toBe(own);
    expect(kinds(objects).has('CustomResourceDefinition')).toBe(name === 'one');
  }
  const [key = '', other = ''] = ['one', 'two'].map(
    (name) => /BERTH_ENCRYPTION_KEYS=(\S+)/.exec(secretOf(kubectl, `berth-${name}`))?.[1],
  );
  expect(key).toMatch(/^k1:.{44}$/);
  expect(other).not.toBe(key);
});

it('lets the second release use the hub of the first one with an id and a key of its own when its commands run', async () => {
  const { kubectl, releases } = await run(oneHub);
  const { two } = releases;
  expect(secretOf(kubectl, 'berth-two')).toContain('--from-literal=BERTH_LISTENER_KEY=key');
  expect(neededKeys(two)).toEqual(new Set(['BERTH_LISTENER_KEY']));
  expect(config(two)).toMatchObject({
    BERTH_HUB_URL: 'https://berth.example',
    BERTH_LISTENER_ID: LISTENER_ID,
    BERTH_NAMESPACES: 'search',
  });
  expect(LISTENER_ID).not.toBe(PLATFORM_LISTENER_ID);
  expect(kinds(two).has('CustomResourceDefinition')).toBe(false);
});

it('describes how another release takes over the definition', () => {
  expect(takeOver).toContain('--set crds.install=true --take-ownership');
});

it('names the Service for metrics as the page about metrics says', async () => {
  for (const [release, service] of [
    ['berth', 'berth-metrics'],
    ['two', 'two-berth-metrics'],
  ] as const) {
    const monitored = set(['serviceMonitor.enabled=true']);
    const objects = parsed(
      await helm(environment(), ['template', release, CHART, '-n', 'berth-system', ...monitored]),
    );
    expect(named(objects, 'Service', service)).toBeDefined();
    expect(textOf('docs/metrics.md')).toContain(`\`${service}\` for the release \`${release}\``);
  }
});

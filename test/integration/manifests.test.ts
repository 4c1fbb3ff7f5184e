/** What users apply is accepted by a real API server, and its pods by the restricted Pod Security level. */
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { installBerth } from '../installation/install.ts';
import { environment, kubectlAsAdmin } from './harness/environment.ts';

interface Manifest {
  kind: string;
  metadata: { name: string; namespace?: string };
  spec?: { template?: { metadata?: object; spec?: { containers: { image: string; args: string[] }[] } } };
}

const folder = fileURLToPath(new URL('../../manifests/', import.meta.url));
const manifests = readdirSync(folder)
  .filter((file) => file.endsWith('.yaml'))
  .sort()
  .flatMap((file) =>
    parseAllDocuments(readFileSync(`${folder}${file}`, 'utf8'), { merge: true }).map(
      (document) => [file, document.toJS() as Manifest] as const,
    ),
  );
const cases = manifests.map(([file, manifest]) => ({
  what: `${file}: ${manifest.kind} ${manifest.metadata.name}`,
  manifest,
}));

beforeAll(() => installBerth(environment()));

const dryRun = (object: unknown) =>
  kubectlAsAdmin(
    ['apply', '--server-side', '--force-conflicts', '--dry-run=server', '--validate=strict', '-f', '-'],
    JSON.stringify(object),
  );

describe('the manifests', () => {
  it.each(cases)('$what is accepted', async ({ manifest }) => {
    await expect(dryRun(manifest)).resolves.toContain('serverside-applied');
  });

  it.each(cases.filter(({ manifest }) => manifest.spec?.template !== undefined))(
    '$what: its pod meets the restricted level',
    async ({ manifest }) => {
      const template = manifest.spec?.template;
      const pod = {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { ...template?.metadata, name: 'trial', namespace: 'berth-system' },
        spec: template?.spec,
      };
      await expect(dryRun(pod)).resolves.toContain('serverside-applied');
    },
  );

  it('run one image, of the version in package.json', () => {
    const { version } = JSON.parse(readFileSync(`${folder}../package.json`, 'utf8')) as { version: string };
    const images = manifests.flatMap(
      ([, { spec }]) => spec?.template?.spec?.containers.map(({ image }) => image) ?? [],
    );
    expect(new Set(images)).toEqual(new Set([`berth:${version}`]));
  });
});

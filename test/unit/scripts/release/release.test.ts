import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { reproducibleSbom } from '../../../../scripts/release/app-files.ts';
import { checksums } from '../../../../scripts/release/artifacts.ts';
import { readSource } from '../../../../scripts/release/source.ts';
import { parseArguments } from '../../../../scripts/release.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'berth-release-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

describe('parseArguments', () => {
  test('builds both platforms on the base of the Dockerfile by default', () => {
    expect(parseArguments(['--output', folder])).toEqual({
      output: folder,
      bases: [expect.stringMatching(/^docker\.io\/library\/node:24/)],
      platforms: ['linux/amd64', 'linux/arm64'],
      repository: 'berth',
    });
  });

  test('accepts several bases, a platform and a repository', () => {
    const args = [
      '--base',
      'a',
      '--base',
      'b',
      '--platform',
      'linux/arm64',
      '--repository',
      'r.example:5000/x/berth',
    ];
    expect(parseArguments(['--output', folder, ...args])).toEqual({
      output: folder,
      bases: ['a', 'b'],
      platforms: ['linux/arm64'],
      repository: 'r.example:5000/x/berth',
    });
  });

  test.each([
    [[], 'with --output'],
    [['--output', 'x', '--bas', 'y'], '--bas'],
    [['--output', 'x', 'y'], 'y'],
    [['--output', 'x', '--platform', 'linux/s390x'], 'the platform linux/s390x is unknown'],
    [['--output', 'x', '--repository', 'berth:1'], 'without a tag'],
    [['--output', 'x', '--repository', 'Berth'], 'not the name of an image'],
  ])('rejects %j in one line', (args, message) => {
    expect(parseArguments(args)).toEqual({ wrong: expect.stringContaining(message) });
  });

  test('rejects a folder that contains files', () => {
    writeFileSync(join(folder, 'file'), '');
    expect(parseArguments(['--output', folder])).toEqual({ wrong: expect.stringContaining('is not empty') });
  });
});

describe('readSource', () => {
  test('takes the date from SOURCE_DATE_EPOCH', () => {
    const { timestamp } = readSource({ SOURCE_DATE_EPOCH: '1700000000' });
    expect(timestamp.toISOString()).toBe('2023-11-14T22:13:20.000Z');
  });

  test.each(['', 'today', '-1', '1e9'])('rejects the date %j', (text) => {
    expect(() => readSource({ SOURCE_DATE_EPOCH: text })).toThrow('is not a number of seconds; next:');
  });
});

test('a bill of materials is the same for two runs and two registries', () => {
  const bom = (serialNumber: string, timestamp: string, url: string) =>
    JSON.stringify({
      bomFormat: 'CycloneDX',
      serialNumber,
      metadata: { timestamp },
      components: [
        {
          name: 'zod',
          externalReferences: [
            { type: 'distribution', url },
            { type: 'vcs', url: 'git' },
          ],
        },
      ],
    });
  const time = new Date(0);
  const first = reproducibleSbom(bom('urn:uuid:1', '2026-01-01', 'https://a.example/zod.tgz'), time);
  expect(reproducibleSbom(bom('urn:uuid:2', '2026-01-02', 'https://b.example/zod.tgz'), time)).toBe(first);
  expect(JSON.parse(first)).toMatchObject({
    serialNumber: expect.stringMatching(
      /^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/,
    ),
    metadata: { timestamp: '1970-01-01T00:00:00.000Z' },
    components: [{ name: 'zod', externalReferences: [{ type: 'vcs', url: 'git' }] }],
  });
});

test('writes checksums of all files in the form that sha256sum reads', async () => {
  writeFileSync(join(folder, 'b'), 'b');
  writeFileSync(join(folder, 'a'), 'a');
  expect(await checksums(folder)).toBe(
    'ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb  a\n' +
      '3e23e8160039594a33894f6564e1b1348bbd7a0088d42c4acb73eeaed59c009d  b\n',
  );
});

test('the workflow has read rights only, and pins each action by a commit', () => {
  interface Workflow {
    permissions: object;
    jobs: Record<string, { permissions?: object; steps: { uses?: string; run?: string }[] }>;
  }
  const path = new URL('../../../../.github/workflows/release.yml', import.meta.url);
  const { permissions, jobs } = parse(readFileSync(path, 'utf8')) as Workflow;
  expect(permissions).toEqual({ contents: 'read' });
  expect(Object.values(jobs).filter((job) => 'permissions' in job)).toEqual([]);
  const steps = Object.values(jobs).flatMap((job) => job.steps);
  const actions = steps.flatMap(({ uses }) => uses ?? []);
  expect(actions.length).toBeGreaterThan(2);
  expect(actions.filter((action) => !/^actions\/[a-z-]+@[0-9a-f]{40}$/.test(action))).toEqual([]);
  expect(steps.flatMap(({ run }) => run ?? []).join('\n')).toContain('npm run release -- --output release');
});

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { reproducibleSbom } from '../../../../scripts/release/app-files.ts';
import { checksums } from '../../../../scripts/release/artifacts.ts';
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

  test('sorts platforms, so that their order does not change the bytes', () => {
    const args = ['--platform', 'linux/arm64', '--platform', 'linux/amd64', '--platform', 'linux/arm64'];
    expect(parseArguments(['--output', folder, ...args])).toMatchObject({
      platforms: ['linux/amd64', 'linux/arm64'],
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

  test.each([
    ['', 'is a file; name a folder'],
    ['/below', 'cannot be read: ENOTDIR'],
  ])('rejects a file%s as the folder in one line', (below, message) => {
    const file = join(folder, 'file');
    writeFileSync(file, '');
    const parsed = parseArguments(['--output', `${file}${below}`]);
    expect(parsed).toEqual({ wrong: expect.stringContaining(message) });
    expect(parsed).toEqual({ wrong: expect.not.stringContaining('\n') });
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

import { describe, expect, test } from 'vitest';
import type { BaseImage } from '../../../../scripts/release/base-image.ts';
import { rebuildCommand, rebuildFile } from '../../../../scripts/release/rebuild.ts';
import { parseArguments } from '../../../../scripts/release.ts';

describe('the file REBUILD', () => {
  const base = (architecture: string, reference: string, isFolder = false) =>
    ({
      reference,
      isFolder,
      platform: { os: 'linux', architecture },
      digest: `sha256:${architecture}`,
    }) as BaseImage;
  const build = (bases: BaseImage[], revision = 'c0ffee') => ({
    source: {
      version: '1.2.3',
      revision,
      timestamp: new Date(1_700_000_000_000),
      url: 'https://git.example/berth',
    },
    repository: 'registry.example/berth',
    bases,
  });

  test('names the commit, the repository, the platforms and each base by digest', () => {
    const both = [base('amd64', 'host:5000/node:24'), base('arm64', 'host:5000/node:24@sha256:index')];
    expect(rebuildFile(build(both)).split('\n').slice(2)).toEqual([
      'set -e',
      'git clone https://git.example/berth berth',
      'cd berth',
      'git checkout c0ffee',
      'SOURCE_DATE_EPOCH=1700000000 npm run release -- --output ../again \\',
      '  --repository registry.example/berth \\',
      '  --platform linux/amd64 \\',
      '  --platform linux/arm64 \\',
      '  --base host:5000/node:24@sha256:amd64 \\',
      '  --base host:5000/node:24@sha256:arm64',
      '',
    ]);
    const command = rebuildCommand(build(both));
    expect(command).not.toContain('\n');
    const [, args = ''] = command.split('release -- ');
    expect(parseArguments(args.split(' '))).toMatchObject({ repository: 'registry.example/berth' });
  });

  test('has no path of this machine, and states that a changed checkout cannot be built again', () => {
    const text = rebuildFile(build([base('amd64', '/home/me/node', true)], 'c0ffee-dirty'));
    expect(text).not.toContain('/home/me');
    expect(text).toContain(
      '# FOLDER: an OCI image layout with the base for linux/amd64, whose digest is sha256:amd64.',
    );
    expect(text).toContain('the same bytes cannot be built again.\ngit clone');
    expect(text).toContain('git checkout c0ffee\n');
  });
});

import { describe, expect, it } from 'vitest';
import { needsNoSources } from '../../../../src/cluster/builder/install-manifest.ts';

describe('needsNoSources', () => {
  it.each([
    ['{}', true],
    ['{"scripts": {"build": "tsc", "test": "x"}, "dependencies": {"a": "^1", "b": "npm:c@2"}}', true],
    ['{"devDependencies": {"a": "https://example.com/a.tgz"}}', true],
    ['{"scripts": {"postinstall": "patch-package"}}', false],
    ['{"scripts": {"prepare": "npm run build"}}', false],
    ['{"scripts": {"dependencies": "x"}}', false],
    ['{"workspaces": ["packages/*"]}', false],
    ['{"dependencies": {"a": "file:../a"}}', false],
    ['{"devDependencies": {"a": "./a"}}', false],
    ['{"dependencies": []}', false],
    ['[]', false],
    ['{', false],
  ])('maps the package.json %s to %s', (text, alone) => {
    expect(needsNoSources('node', ['package.json'], text)).toBe(alone);
  });

  it.each(['binding.gyp', 'node_modules'])('returns false when the repository contains %s', (file) => {
    expect(needsNoSources('node', ['package.json', file], '{}')).toBe(false);
  });

  it.each([
    ['', true],
    ['# a comment\nflask==3.0\nuvicorn[standard] >= 0.2 ; python_version > "3"\r\nsix\n', true],
    ['flask==3 \\\n    --hash=sha256:abc\n--index-url https://example.com\n', true],
    ['a @ https://example.com/a.whl', true],
    ['-r base.txt', false],
    ['-c constraints.txt', false],
    ['-e .', false],
    ['.', false],
    ['./lib', false],
    ['lib/a', false],
    ['a @ file:///x', false],
    ['a-1.0-py3-none-any.whl', false],
    ['--find-links wheels', false],
  ])('maps the requirements.txt %j to %s', (text, alone) => {
    expect(needsNoSources('python', ['requirements.txt'], text)).toBe(alone);
  });
});

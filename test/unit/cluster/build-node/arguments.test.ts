import { describe, expect, it } from 'vitest';
import { commandOf, environmentOf, expand, withRealPaths } from '../../../cluster/build-node/arguments.ts';

const real = new Map([
  ['/workspace', '/real/work'],
  ['/workspace/cache', '/real/cache'],
  ['/tmp', '/real/tmp'],
]);

describe('withRealPaths', () => {
  it.each([
    ['/workspace', '/real/work'],
    ['/workspace/a b', '/real/work/a b'],
    ['/workspace/cache/x', '/real/cache/x'],
    ['--local=context=/workspace/context', '--local=context=/real/work/context'],
    ['type=local,src=/tmp,dest=/workspace', 'type=local,src=/real/tmp,dest=/real/work'],
    ['/bin:/tmp/bin', '/bin:/real/tmp/bin'],
    ['/workspaces', '/workspaces'],
    ['https://git.example/tmp/app', 'https://git.example/tmp/app'],
    ['--install-command=cp x /tmp/y', '--install-command=cp x /tmp/y'],
  ])('turns %s into %s', (text, expected) => {
    expect(withRealPaths(text, real)).toBe(expected);
  });
});

describe('variables', () => {
  it('are expanded like in Kubernetes', () => {
    const known = { NAME: 'value' };
    expect(expand('$(NAME) $$(NAME) $NAME $(OTHER) $$$$ $(toString)', known)).toBe(
      'value $(NAME) $NAME $(OTHER) $$ $(toString)',
    );
  });

  it('can refer to earlier variables only', () => {
    const env = [
      { name: 'A', value: 'a' },
      { name: 'B', value: '$(A)-$(C)' },
      { name: 'C', value: '/tmp/c' },
      { name: 'D' },
    ];
    expect(environmentOf(env, real)).toEqual({ A: 'a', B: 'a-$(C)', C: '/real/tmp/c', D: '' });
  });
});

it('runs Berth in a container without a command', () => {
  const berth = ['node', 'main.ts'];
  expect(commandOf({ args: ['build-step', '$(A)'] }, berth, { A: '/tmp' }, real)).toEqual([
    'node',
    'main.ts',
    'build-step',
    '/real/tmp',
  ]);
  expect(commandOf({ command: ['buildctl'], args: ['build'] }, berth, {}, real)).toEqual([
    'buildctl',
    'build',
  ]);
});

it('changes no text of tenants, even if it contains mount paths', () => {
  const ofTenants = [
    '--install-command=/tmp/install && PATH=/tmp:/workspace make DIR=/tmp,/workspace',
    '--build-command=/workspace/build',
    '--ref=/tmp',
    '--config=/workspace',
    '--repo-url=https://git.example:/tmp/x',
    '--output=type=image,name=/tmp',
  ];
  const ofBerth = [
    '--workspace=/workspace',
    '--credentials=/tmp/git',
    '--metadata-file=/workspace/metadata.json',
  ];
  expect(commandOf({ args: [...ofTenants, ...ofBerth] }, [], {}, real)).toEqual([
    ...ofTenants,
    '--workspace=/real/work',
    '--credentials=/real/tmp/git',
    '--metadata-file=/real/work/metadata.json',
  ]);
});

import { describe, expect, it } from 'vitest';
import { commandOf, environmentOf, expanded, placed } from '../../../cluster/build-node/arguments.ts';

const places = new Map([
  ['/workspace', '/real/work'],
  ['/workspace/cache', '/real/cache'],
  ['/tmp', '/real/tmp'],
]);

describe('mount paths', () => {
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
  ])('%s becomes %s', (text, expected) => {
    expect(placed(text, places)).toBe(expected);
  });
});

describe('variables', () => {
  it('are expanded as Kubernetes does it', () => {
    const known = { NAME: 'value' };
    expect(expanded('$(NAME) $$(NAME) $NAME $(OTHER) $$$$ $(toString)', known)).toBe(
      'value $(NAME) $NAME $(OTHER) $$ $(toString)',
    );
  });

  it('may name those before them, and no others', () => {
    const env = [
      { name: 'A', value: 'a' },
      { name: 'B', value: '$(A)-$(C)' },
      { name: 'C', value: '/tmp/c' },
      { name: 'D' },
    ];
    expect(environmentOf(env, places)).toEqual({ A: 'a', B: 'a-$(C)', C: '/real/tmp/c', D: '' });
  });
});

it('a container without a command runs what its image would', () => {
  const own = ['node', 'main.ts'];
  expect(commandOf({ args: ['build-step', '$(A)'] }, own, { A: '/tmp' }, places)).toEqual([
    'node',
    'main.ts',
    'build-step',
    '/real/tmp',
  ]);
  expect(commandOf({ command: ['buildctl'], args: ['build'] }, own, {}, places)).toEqual([
    'buildctl',
    'build',
  ]);
});

it('puts no folder into what tenants write, wherever a path stands in it', () => {
  const written = [
    '--install-command=/tmp/install && PATH=/tmp:/workspace make DIR=/tmp,/workspace',
    '--build-command=/workspace/build',
    '--ref=/tmp',
    '--config=/workspace',
    '--repo-url=https://git.example:/tmp/x',
    '--output=type=image,name=/tmp',
  ];
  const own = [
    '--workspace=/workspace',
    '--credentials=/tmp/git',
    '--metadata-file=/workspace/metadata.json',
  ];
  expect(commandOf({ args: [...written, ...own] }, [], {}, places)).toEqual([
    ...written,
    '--workspace=/real/work',
    '--credentials=/real/tmp/git',
    '--metadata-file=/real/work/metadata.json',
  ]);
});

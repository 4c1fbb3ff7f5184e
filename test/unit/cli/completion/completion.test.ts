/** Completion scripts, in real shells where they are installed. */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { completionScript } from '../../../../src/cli/completion/scripts.ts';
import { completionNodes } from '../../../../src/cli/completion/tree.ts';
import { buildProgram } from '../../../../src/cli/program.ts';
import { processHost } from '../../../../src/cli/run.ts';

const program = await buildProgram(null, processHost([]));
const folder = mkdtempSync(join(tmpdir(), 'berth-completion-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const hasShell = (shell: string) => spawnSync(shell, ['--version']).status === 0;

function written(shell: 'bash' | 'zsh' | 'fish'): string {
  const path = join(folder, shell);
  writeFileSync(path, `${completionScript(shell, program)}\n`);
  return path;
}

describe('bash', () => {
  const script = written('bash');

  /** What bash offers after these words. The last one is being typed. */
  function offered(...words: string[]): string[] {
    const run = `source "$1"; shift; COMP_WORDS=(berth "$@"); COMP_CWORD=$#; _berth; printf '%s\\n' "\${COMPREPLY[@]}"`;
    const text = execFileSync('bash', ['--norc', '-c', run, 'bash', script, ...words], {
      encoding: 'utf8',
      cwd: folder,
    });
    return text.split('\n').filter((line) => line !== '');
  }

  test('offers commands, subcommands and options', () => {
    expect(offered('dep')).toEqual(['deploy', 'deployments']);
    expect(offered('revisions', 'r')).toEqual(['rollback', 'redeploy']);
    expect(offered('listener', 'd')).toEqual(['doctor']);
    expect(offered('revisions', 'rollback', 'shop', '1', '--w')).toEqual(['--wait']);
    expect(offered('deployments', 'list', '--w')).toEqual([]);
  });

  test('offers the values of options and arguments, and files', () => {
    const FORMATS = ['table', 'json', 'yaml', 'name'];
    expect(offered('deployments', 'list', '-o', '')).toEqual(FORMATS);
    // Bash splits --output=j into three words.
    expect(offered('deployments', 'list', '--output', '=', 'j')).toEqual(['json']);
    expect(offered('deployments', 'list', '--output', '=')).toEqual(FORMATS);
    expect(offered('completion', 'z')).toEqual(['zsh']);
    expect(offered('deployments', 'create', '-f', 'ba')).toEqual(['bash']);
    expect(offered('deployments', 'list', '--status', 'U')).toEqual(['UNUSED', 'UNKNOWN']);
    expect(offered('deployments', 'list', '--name-contains', '')).toEqual([]);
  });

  test('does not take a value for a command', () => {
    expect(offered('deployments', 'get', 'list', '--st')).toEqual([]);
    expect(offered('deployments', 'list', '--st')).toEqual(['--status']);
  });
});

test.skipIf(!hasShell('zsh'))('zsh accepts its script', () => {
  expect(spawnSync('zsh', ['-n', written('zsh')]).stderr.toString()).toBe('');
});

test.skipIf(!hasShell('fish'))('fish accepts its script', () => {
  expect(spawnSync('fish', ['--no-execute', written('fish')]).stderr.toString()).toBe('');
});

test.each(['zsh', 'fish'] as const)('the script of %s names every command and option', (shell) => {
  const script = completionScript(shell, program);
  for (const { path, subcommands, options } of completionNodes(program)) {
    for (const { name } of subcommands) expect(script, `${path} ${name}`).toContain(name);
    for (const { names } of options)
      for (const name of names) expect(script).toContain(shell === 'fish' ? name.replace(/^--?/, '') : name);
  }
});

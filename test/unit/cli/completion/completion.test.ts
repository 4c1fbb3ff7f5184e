/** Completion scripts, in real shells where they are installed. */
import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
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

  /**
   * The arguments of each command that a user types into an interactive bash. `\t` completes. The program prints its
   * arguments, and lists the contexts `production` and `staging`.
   */
  function typed(...lines: string[]): string[] {
    const home = mkdtempSync(join(folder, 'home-'));
    const work = join(home, 'work');
    for (const path of ['my folder', 'plain', '../.config/berth'])
      mkdirSync(join(work, path), { recursive: true });
    for (const path of ["it's.yaml", 'my file.yaml', 'plain/app.yaml']) writeFileSync(join(work, path), '');
    const context = { url: 'https://berth.example', api_key: 'key' };
    const contexts = { current: null, contexts: { production: context, staging: context } };
    writeFileSync(join(home, '.config/berth/contexts.json'), JSON.stringify(contexts), { mode: 0o600 });
    const main = fileURLToPath(new URL('../../../../src/main.ts', import.meta.url));
    const program = `#!/bin/sh
[ "$1 $2" != "context list" ] || exec '${process.execPath}' '${main}' "$@"
printf '<%s>' "$@"; echo
`;
    writeFileSync(join(home, 'berth'), program);
    chmodSync(join(home, 'berth'), 0o755);
    const { stdout } = spawnSync('bash', ['--noprofile', '--rcfile', script, '-i'], {
      cwd: work,
      env: { HOME: home, PATH: `${home}:/usr/bin:/bin`, INPUTRC: '/dev/null', TERM: 'dumb' },
      input: lines.map((line) => `${line}\n`).join(''),
      encoding: 'utf8',
    });
    return stdout.split('\n').filter((line) => line !== '');
  }

  test('completes files and folders, also with spaces and quotes', () => {
    expect(
      typed(
        'berth apply -f my\\ fi\t',
        'berth apply -f "my fo\t',
        'berth diff -f pl\tap\t',
        'berth apply --file=pl\tap\t',
        'berth apply -f it\t-l a=b',
        'berth deploy shop pl\t',
        // Two names begin like this, so only their common part is inserted.
        'berth apply -f my\t',
      ),
    ).toEqual([
      '<apply><-f><my file.yaml>',
      '<apply><-f><my folder/>',
      '<diff><-f><plain/app.yaml>',
      '<apply><--file=plain/app.yaml>',
      "<apply><-f><it's.yaml><-l><a=b>",
      '<deploy><shop><plain/>',
      '<apply><-f><my f>',
    ]);
  });

  test('completes the names of the stored contexts', () => {
    expect(
      typed(
        'berth whoami --context pr\t',
        'berth deployments list --context=st\t',
        'berth login --name st\t',
        'berth context use pr\t',
        'berth context delete st\t--y\t',
      ),
    ).toEqual([
      '<whoami><--context><production>',
      '<deployments><list><--context=staging>',
      '<login><--name><staging>',
      '<context><use><production>',
      '<context><delete><staging><--yes>',
    ]);
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

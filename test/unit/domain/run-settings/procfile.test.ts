import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { commandComponents } from '../../../../src/domain/run-settings/command-components.ts';
import {
  effectiveCommands,
  resolvedSettings,
  sourcedCommands,
  withoutBuildResult,
} from '../../../../src/domain/run-settings/procfile.ts';
import {
  mergeRunSettings,
  runSettingsOf,
  sameRunSettings,
  withoutRunSettings,
} from '../../../../src/domain/run-settings/run-settings.ts';

const shell = (line: string) => ({ command: ['/bin/sh', '-c'], args: [line] });
const PROCFILE = { web: 'node server.js', worker: 'node worker.js' };

/** How the kubelet expands references without known variables (k8s.io/kubernetes/third_party/forked/golang/expansion). */
function expanded(text: string): string {
  return text.replace(/\$\$|\$\([^)]*\)/g, (found) => (found === '$$' ? '$' : `<${found}>`));
}

describe('the effective commands', () => {
  test('are those of the Procfile, unless the request has another one', () => {
    const commands = { queue: { args: ['mine'] } };
    expect(effectiveCommands({ procfile: PROCFILE })).toEqual({
      api: shell('node server.js'),
      queue: shell('node worker.js'),
    });
    expect(effectiveCommands({ procfile: PROCFILE, commands })).toEqual({
      api: shell('node server.js'),
      queue: { args: ['mine'] },
    });
    expect(effectiveCommands({ commands })).toEqual(commands);
    expect(effectiveCommands({})).toEqual({});
  });

  test('have their source, and are absent when every component runs its image', () => {
    expect(sourcedCommands({ procfile: PROCFILE, commands: { queue: { args: ['mine'] } } })).toEqual({
      api: { ...shell('node server.js'), source: 'procfile' },
      queue: { args: ['mine'], source: 'commands' },
    });
    expect(sourcedCommands({ port: 80 })).toBeUndefined();
  });

  test('create the queue component from a worker line, and only then', () => {
    expect(commandComponents({}, { procfile: PROCFILE })).toEqual(['queue']);
    expect(commandComponents({ queue_max_scale: 0 }, { procfile: PROCFILE })).toEqual([]);
    expect(commandComponents({}, { procfile: { web: 'a' } })).toEqual([]);
  });

  test('reach the shell as they are written, although Kubernetes expands references', () => {
    for (const line of [
      'echo $PORT',
      'echo $(date)',
      'echo $$',
      'a $$(b) $$$(c) $',
      '$$$$',
      '$(PORT)$$(X)',
    ]) {
      const [text = ''] = effectiveCommands({ procfile: { web: line } }).api?.args ?? [];
      expect(expanded(text), line).toBe(line);
    }
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom('$', '(', ')', 'a'), minLength: 1 }), (line) => {
        const [text = ''] = effectiveCommands({ procfile: { web: line } }).api?.args ?? [];
        expect(expanded(text)).toBe(line);
      }),
    );
    expect(effectiveCommands({ procfile: { web: 'a $PORT' } }).api?.args).toEqual(['a $PORT']);
  });

  test('are ordinary commands in the custom resource', () => {
    const env = [{ name: 'A', value: '1' }];
    expect(resolvedSettings({ port: 80, procfile: PROCFILE, env })).toEqual({
      port: 80,
      commands: { api: shell('node server.js'), queue: shell('node worker.js') },
      env,
    });
    expect(resolvedSettings({})).toEqual({});
    const others = { env, secretReferences: [{ name: 'KEY', secretName: 'payments', secretKey: 'key' }] };
    expect(resolvedSettings({ ...others, procfile: {} })).toEqual(others);
  });
});

describe('the Procfile of a revision', () => {
  test('stays when a PATCH changes other settings', () => {
    const stored = { port: 80, procfile: PROCFILE };
    expect(mergeRunSettings(stored, { port: null, commands: null })).toEqual({ procfile: PROCFILE });
    expect(runSettingsOf(stored)).toEqual(stored);
    expect(withoutRunSettings(stored)).toEqual({});
  });

  test('is part of what two revisions have in common', () => {
    expect(sameRunSettings({ procfile: PROCFILE }, {})).toBe(false);
    expect(sameRunSettings({ procfile: PROCFILE }, { procfile: { ...PROCFILE } })).toBe(true);
  });

  test('is removed with image and commit when the revision is built again', () => {
    const config = { image_uri: 'a', repo_commit_sha: 'b', port: 80, procfile: PROCFILE };
    expect(withoutBuildResult(config)).toEqual({ image_uri: null, repo_commit_sha: null, port: 80 });
  });
});

describe('a release line', () => {
  const line = { procfile: { release: 'migrate "$(date)"' } };
  const command = ['/bin/sh', '-c', 'migrate "$$(date)"'];

  test('is the release command of the revision, unless the request has one', () => {
    expect(resolvedSettings(line)).toEqual({ releaseCommand: command });
    expect(sourcedCommands(line)).toEqual({ release: { command, source: 'procfile' } });
    const own = { ...line, releaseCommand: ['mine'] };
    expect(resolvedSettings(own)).toEqual({ releaseCommand: ['mine'] });
    expect(sourcedCommands(own)).toEqual({ release: { command: ['mine'], source: 'commands' } });
  });

  test('creates no component, and does not run after a rollback', () => {
    expect(effectiveCommands(line)).toEqual({});
    expect(resolvedSettings({ ...line, releaseSkipped: true })).toEqual({});
  });
});

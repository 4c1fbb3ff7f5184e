import { describe, expect, test } from 'vitest';
import {
  createRevisionConfigSchema,
  toSourceConfig,
  toSourceRevisionConfig,
} from '../../../../src/domain/deployment/deployment-bodies.ts';
import { configChanges } from '../../../../src/domain/deployment/field-changes.ts';
import { effectiveSpec } from '../../../../src/domain/resource-spec/effective-spec.ts';
import type { ResourceSpec } from '../../../../src/domain/resource-spec/resource-spec.ts';
import { MAX_SPEC_BYTES } from '../../../../src/domain/resource-spec/spec-rules.ts';
import { withRelease } from '../../../../src/domain/revision/redeploy.ts';
import {
  commandComponents,
  withCommandComponents,
} from '../../../../src/domain/run-settings/command-components.ts';
import { externalServices } from '../../../../src/domain/run-settings/external-services.ts';
import { resolvedSettings, runsRelease } from '../../../../src/domain/run-settings/procfile.ts';
import { addsOrRemovesPods } from '../../../../src/domain/run-settings/revision-content.ts';
import {
  mergeRunSettings,
  type RunSettings,
  type SentRunSettings,
  sameRunSettings,
} from '../../../../src/domain/run-settings/run-settings.ts';
import {
  MAX_COMMANDS_BYTES,
  MAX_VARIABLES,
  MAX_VARIABLES_BYTES,
} from '../../../../src/domain/run-settings/run-settings-schema.ts';
import { sharedNameIssues } from '../../../../src/domain/run-settings/shared-names.ts';
import { MAX_VALUE_BYTES } from '../../../../src/domain/run-settings/variable-schema.ts';

const EMPTY = toSourceConfig({});
const A = { name: 'A', value: '1' };
const B = { name: 'B', value: '2' };
const run = (...args: string[]) => ({ args });

/** Path and message of each issue of a body. */
const problems = (config: object) =>
  (createRevisionConfigSchema.safeParse(config).error?.issues ?? []).map(({ path, message }) => [
    path.join('.'),
    message,
  ]);

describe('a request', () => {
  test.each<[string, object, string]>([
    ['a port below 1', { port: 0 }, 'port'],
    ['a port above 65535', { port: 65_536 }, 'port'],
    ['a port with a fraction', { port: 80.5 }, 'port'],
    ['a port as text', { port: '80' }, 'port'],
    ['an unknown component', { commands: { web: run('x') } }, 'commands'],
    ['an unknown member of a command', { commands: { api: { workingDir: '/' } } }, 'commands.api'],
    ['a command as text', { commands: { api: { command: 'serve' } } }, 'commands.api.command'],
    ['a control character in an argument', { commands: { api: run('a\u0007') } }, 'commands.api.args.0'],
    ['a half surrogate in an argument', { commands: { api: run('\ud800') } }, 'commands.api.args.0'],
    ['too many arguments', { commands: { queue: run(...Array(257).fill('x')) } }, 'commands.queue.args'],
    ['a long argument', { commands: { queue: run('x'.repeat(32_769)) } }, 'commands.queue.args.0'],
    ['large commands', { commands: { api: run(...Array(3).fill('x'.repeat(30_000))) } }, 'commands'],
    ['a variable without a value', { env: [{ name: 'A' }] }, 'env.0.value'],
    ['a variable with valueFrom', { env: [{ ...A, valueFrom: {} }] }, 'env.0'],
    ['a name that begins with a digit', { env: [{ ...A, name: '1A' }] }, 'env.0.name'],
    ['a name with =', { env: [A, { ...A, name: 'A=B' }] }, 'env.1.name'],
    ['a release command as text', { release_command: 'migrate' }, 'release_command'],
    ['an empty release command', { release_command: [] }, 'release_command'],
    ['a control character in a release command', { release_command: ['a\u0007'] }, 'release_command.0'],
    ['a large release command', { release_command: Array(3).fill('x'.repeat(8000)) }, 'release_command'],
    ['too many arguments of a release command', { release_command: Array(65).fill('x') }, 'release_command'],
    ['a release timeout of 0', { release_timeout_seconds: 0 }, 'release_timeout_seconds'],
    ['a release timeout of two days', { release_timeout_seconds: 172_800 }, 'release_timeout_seconds'],
    ['a name that breaks JavaScript', { env: [{ ...A, name: '__proto__' }] }, 'env.0.name'],
    ['a reserved name', { env: [{ ...A, name: 'PORT' }] }, 'env.0.name'],
    ['a name that occurs twice', { env: [A, B, A] }, 'env.2.name'],
    ['NUL in a value', { env: [{ ...A, value: 'a\u0000' }] }, 'env.0.value'],
    ['a large value', { env: [{ ...A, value: 'x'.repeat(MAX_VALUE_BYTES + 1) }] }, 'env.0.value'],
    [
      'too many variables',
      { env: Array.from({ length: MAX_VARIABLES + 1 }, (_, n) => ({ name: `V${n}`, value: '' })) },
      'env',
    ],
    [
      'large variables',
      { env: [A, B].map(({ name }) => ({ name, value: 'x'.repeat(MAX_VARIABLES_BYTES / 2) })) },
      'env',
    ],
    [
      'a reference in the URI of an external database',
      { env: [A, { name: 'DATABASE_URI_CUSTOM', value: 'postgresql://$(A)/x' }] },
      'env.1.value',
    ],
    [
      'a reference in the URI of an external cache',
      { env: [{ name: 'CACHE_URI_CUSTOM', value: 'redis://$$$(PORT)' }] },
      'env.0.value',
    ],
  ])('is rejected with the path of the field when it has %s', (_what, config, path) => {
    expect(problems(config).map(([at]) => at)).toContain(path);
  });

  test('may have references in other variables, and texts that look like one', () => {
    const env = [A, { name: 'C', value: '$(A)' }, { name: 'DATABASE_URI_CUSTOM', value: 'a$$(A)$b' }];
    expect(problems({ env })).toEqual([]);
  });

  test('is accepted up to each limit', () => {
    const env = Array.from({ length: MAX_VARIABLES }, (_, n) => ({ name: `V${n}`, value: '' }));
    const argument = 'x'.repeat(MAX_COMMANDS_BYTES / 4);
    const commands = { api: run(argument, argument), executor: run(argument) };
    for (const port of [1, 65_535, null]) expect(problems({ port, commands, env })).toEqual([]);
    const most = MAX_VARIABLES_BYTES - JSON.stringify([{ name: 'A', value: '' }]).length;
    const values = { env: [{ name: 'A', value: 'x'.repeat(most) }] };
    expect(problems(values)).toEqual([]);
  });

  test.each<[string, object, RunSettings]>([
    ['nothing', {}, {}],
    ['null', { port: null, commands: null, env: null }, {}],
    [
      'empty members',
      { commands: { api: null, queue: {}, executor: { command: [], args: null } }, env: [] },
      {},
    ],
    [
      'everything',
      { port: 80, commands: { api: { command: ['a'], args: ['b'] } }, env: [B, A] },
      {
        port: 80,
        commands: { api: { command: ['a'], args: ['b'] } },
        env: [B, A],
      },
    ],
  ])(
    'is stored without unset fields, as by the previous version, when it has %s',
    (_what, sent, expected) => {
      const unset = { repo_ref: null, workflow_config_path: null, image_uri: null, repo_commit_sha: null };
      const stored = toSourceRevisionConfig(createRevisionConfigSchema.parse(sent));
      expect(JSON.stringify(stored)).toBe(JSON.stringify({ ...unset, ...expected }));
    },
  );
});

describe('mergeRunSettings', () => {
  const stored: RunSettings = { port: 80, commands: { api: run('a'), queue: run('q') }, env: [A] };
  test.each<[string, SentRunSettings, RunSettings]>([
    ['keeps absent fields', {}, stored],
    ['clears a field with null', { port: null }, { commands: stored.commands ?? {}, env: [A] }],
    ['replaces env as a whole', { env: [B] }, { ...stored, env: [B] }],
    ['clears env with an empty list', { env: [] }, { port: 80, commands: stored.commands ?? {} }],
    [
      'keeps the commands of other components',
      { commands: { api: run('b') } },
      {
        ...stored,
        commands: { api: run('b'), queue: run('q') },
      },
    ],
    [
      'replaces the command of a component as a whole',
      { commands: { api: { command: ['c'] } } },
      {
        ...stored,
        commands: { api: { command: ['c'] }, queue: run('q') },
      },
    ],
    [
      'clears the command of a component with null',
      { commands: { queue: null } },
      { ...stored, commands: { api: run('a') } },
    ],
    ['clears all commands with null', { commands: null }, { port: 80, env: [A] }],
    [
      'clears commands when the last one is cleared',
      { commands: { api: null, queue: {} } },
      { port: 80, env: [A] },
    ],
  ])('%s', (_what, sent, expected) => {
    expect(mergeRunSettings(stored, sent)).toEqual(expected);
    expect(sameRunSettings(mergeRunSettings(stored, sent), expected)).toBe(true);
  });
});

describe('the names of secrets and env', () => {
  const both = { sourceRevisionConfig: { env: [A, B] }, secrets: [{ name: 'X', value: 's' }, B] };
  test.each([
    [
      'env when env was sent',
      { sentEnv: true, sentReferences: false, sentSecrets: false },
      ['source_revision_config', 'env', 1, 'name'],
    ],
    [
      'env when both were sent',
      { sentEnv: true, sentReferences: false, sentSecrets: true },
      ['source_revision_config', 'env', 1, 'name'],
    ],
    [
      'secrets when only secrets were sent',
      { sentEnv: false, sentReferences: false, sentSecrets: true },
      ['secrets', 1, 'name'],
    ],
  ])('are reported in %s', (_what, sent, loc) => {
    expect(sharedNameIssues(both, sent)).toMatchObject([{ loc, type: 'name_shared' }]);
    expect(JSON.stringify(sharedNameIssues(both, sent))).not.toContain('"2"');
  });

  test('are not reported when the request has neither list, or no name is shared', () => {
    expect(sharedNameIssues(both, { sentEnv: false, sentReferences: false, sentSecrets: false })).toEqual([]);
    const apart = { ...both, secrets: [{ name: 'X', value: 's' }] };
    expect(sharedNameIssues(apart, { sentEnv: true, sentReferences: false, sentSecrets: true })).toEqual([]);
  });
});

describe('a component of a command', () => {
  const commands = { queue: run('q'), orchestrator: run('o'), executor: run('e') };
  const config = (spec: ResourceSpec | null, type: 'prod' | null = null) => ({
    ...toSourceConfig({ deployment_type: type }),
    resource_spec: spec,
  });
  const effectiveWith = (spec: ResourceSpec, settings: RunSettings, type: 'prod' | null = null) =>
    effectiveSpec(withCommandComponents(config(spec, type), settings).resource_spec ?? {}, type);

  test.each<[string, ResourceSpec, 'prod' | null]>([
    ['nothing', {}, null],
    ['scales', { min_scale: 3, max_scale: 7 }, null],
    ['a deployment type', {}, 'prod'],
    ['sizes', { cpu: 0.5, memory_mb: 300 }, null],
    ['no pods', { max_scale: 0 }, null],
  ])('has the sizes of a component with default values when resource_spec has %s', (_what, spec, type) => {
    const created = effectiveWith(spec, { commands }, type);
    const declared = effectiveSpec(
      { ...spec, queue_cpu: created.cpu, orchestrator_cpu: 1, executor_memory_mb: 1024 },
      type,
    );
    expect(created).toEqual(declared);
  });

  test('does not exist when resource_spec has the component, or the command is that of api', () => {
    expect(commandComponents({ queue_cpu: 1 }, { commands: { api: run('a'), queue: run('q') } })).toEqual([]);
    const given = config({ queue_memory_mb: 99 });
    expect(withCommandComponents(given, { commands: { api: run('a'), queue: run('q') } })).toBe(given);
    expect(withCommandComponents(given, {})).toBe(given);
  });
});

describe('the content of a revision', () => {
  const content = (settings: RunSettings, secrets: { name: string; value: string }[] | null = []) => ({
    sourceRevisionConfig: { ...toSourceRevisionConfig({}), ...settings },
    secrets,
  });
  const next = (settings: RunSettings, secrets: { name: string; value: string }[] = []) => ({
    ...content(settings),
    secrets,
  });
  const URI = { name: 'DATABASE_URI_CUSTOM', value: 'x' };

  test.each<[boolean, string, ReturnType<typeof content>, ReturnType<typeof next>]>([
    [false, 'a variable changes', content({ env: [A] }), next({ env: [B] })],
    [false, 'a port changes', content({}), next({ port: 80 })],
    [false, 'a command of api is added', content({}), next({ commands: { api: run('a') } })],
    [
      false,
      'a command changes',
      content({ commands: { queue: run('a') } }),
      next({ commands: { queue: run('b') } }),
    ],
    [false, 'the URI of the database moves from a secret to env', content({}, [URI]), next({ env: [URI] })],
    [true, 'the database becomes external by env', content({}), next({ env: [URI] })],
    [true, 'a command creates a component', content({}), next({ commands: { executor: run('a') } })],
    [true, 'the secrets cannot be decrypted', content({}, null), next({})],
  ])('adds or removes pods: %s when %s', (expected, _what, from, to) => {
    expect(addsOrRemovesPods({ resource_spec: null }, from, to)).toBe(expected);
  });

  test('names external services in secrets and in env', () => {
    expect(externalServices(['CACHE_URI_CUSTOM'], { env: [URI] })).toEqual({ database: true, cache: true });
    expect(externalServices([], { env: [A] })).toEqual({ database: false, cache: false });
  });
});

test('a ControllerRevision with the largest resource_spec, variables and commands fits into etcd', () => {
  const templates = 4 * (MAX_SPEC_BYTES + MAX_VARIABLES_BYTES) + MAX_COMMANDS_BYTES;
  const record = MAX_VARIABLES_BYTES + MAX_COMMANDS_BYTES;
  const fieldsOfBerth = 32 * 1024;
  expect(templates + record + fieldsOfBerth).toBeLessThanOrEqual(1.5 * 1024 * 1024);
});

describe('a release command', () => {
  const config = (more: RunSettings) => ({
    repo_ref: null,
    workflow_config_path: null,
    image_uri: 'a:1',
    repo_commit_sha: null,
    ...more,
  });

  test('is merged as a whole, and null removes it', () => {
    const stored = { releaseCommand: ['migrate'], releaseTimeoutSeconds: 60 };
    expect(mergeRunSettings(stored, { port: 80 })).toEqual({ ...stored, port: 80 });
    expect(mergeRunSettings(stored, { releaseCommand: ['a', 'b'], releaseTimeoutSeconds: null })).toEqual({
      releaseCommand: ['a', 'b'],
    });
    expect(mergeRunSettings(stored, { releaseCommand: null })).toEqual({ releaseTimeoutSeconds: 60 });
  });

  test('is not run by a rollback unless it is requested, and is run by the next revision', () => {
    const stored = config({ releaseCommand: ['migrate'], releaseTimeoutSeconds: 60 });
    const rolledBack = withRelease(stored, false);
    expect(runsRelease(rolledBack)).toBe(false);
    expect(resolvedSettings(rolledBack)).toEqual({});
    expect(withRelease(rolledBack, true)).toEqual(stored);
    expect(runsRelease(mergeRunSettings(rolledBack, { port: 80 }))).toBe(true);
    expect(
      configChanges(
        { sourceConfig: EMPTY, sourceRevisionConfig: stored },
        { sourceConfig: EMPTY, sourceRevisionConfig: rolledBack },
      ),
    ).toEqual([]);
    expect(withRelease(config({}), false)).toEqual(config({}));
  });
});

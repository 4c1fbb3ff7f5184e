import { describe, expect, test } from 'vitest';
import { LOGGED_COMPONENTS, TASK_COMPONENTS } from '../../../src/console/api/components.ts';
import type { Revision, Task } from '../../../src/console/api/types.ts';
import { logCommand, logPath } from '../../../src/console/logs/log-filters.ts';
import { hasRelease, releaseTaskOf } from '../../../src/console/tasks/release.ts';
import { lastRuns, suspensionPatch } from '../../../src/console/tasks/schedules.ts';
import {
  commandOf,
  EMPTY_FORM,
  requestOf,
  runCommand,
  wordsOf,
} from '../../../src/console/tasks/task-request.ts';
import { hasOutput, isFinal, markOf, reasonOf, shortWords } from '../../../src/console/tasks/task-state.ts';

const ID = '0196f0a0-5c1e-7b3a-9d51-0c4f6f1c2a77';
const task = (changes: Partial<Task>) =>
  ({ state: 'QUEUED', reason: null, cancel_requested: false, started_at: null, ...changes }) as Task;

describe('wordsOf', () => {
  test('groups words with quotes and backslashes as a shell does, and expands nothing', () => {
    expect(wordsOf(' ./manage  migrate --no-input ')).toEqual(['./manage', 'migrate', '--no-input']);
    expect(wordsOf(`a'b c'"d e" '' f\\ g "\\"h\\" \\n $X"`)).toEqual(['ab cd e', '', 'f g', '"h" \\n $X']);
    expect(wordsOf('echo $HOME | cat *')).toEqual(['echo', '$HOME', '|', 'cat', '*']);
    expect(wordsOf('')).toEqual([]);
  });

  test('is null when a quote is not closed, or a backslash stands at the end', () => {
    for (const line of [`echo 'a`, 'echo "a', 'echo "a\\"', 'echo a\\'])
      expect(wordsOf(line), line).toBeNull();
  });
});

describe('the request of a task', () => {
  test('has only what was typed', () => {
    expect(requestOf({ ...EMPTY_FORM, line: 'migrate' })).toEqual({ command: ['migrate'] });
    const form = {
      line: 'echo $HOME',
      usesShell: true,
      component: 'queue',
      revision: ID,
      timeout: '60',
    } as const;
    expect(requestOf(form)).toEqual({
      command: ['sh', '-c', 'echo $HOME'],
      component: 'queue',
      revision_id: ID,
      timeout_seconds: 60,
    });
  });

  test('is an error when a quote is not closed, except for a shell, which reads the line itself', () => {
    expect(() => requestOf({ ...EMPTY_FORM, line: `echo 'a` })).toThrow('ends inside of a quote');
    expect(commandOf({ line: `echo 'a`, usesShell: true })).toEqual(['sh', '-c', `echo 'a`]);
    expect(commandOf({ line: '  ', usesShell: true })).toEqual([]);
  });

  test('has a command line with the options before the name', () => {
    const body = { command: ['sh', '-c', 'echo $HOME'], component: 'queue', timeout_seconds: 60 } as const;
    expect(runCommand('shop', body)).toBe(
      `berth run --component queue --timeout 60 shop -- sh -c 'echo $HOME'`,
    );
    expect(runCommand('shop', { command: ['migrate'], revision_id: ID })).toBe(
      `berth run --revision ${ID} shop -- migrate`,
    );
  });
});

describe('the state of a task', () => {
  test('is shown as the last known one only while it can change', () => {
    expect(markOf('RUNNING', true)).toEqual({ tone: 'busy', text: 'RUNNING', isStale: true });
    expect(markOf('FAILED', true)).toEqual({ tone: 'bad', text: 'FAILED', isStale: false });
    expect(markOf('UNKNOWN', false)).toEqual({ tone: 'unsure', text: 'UNKNOWN', isStale: false });
    expect(isFinal('UNKNOWN')).toBe(false);
  });

  test('has a reason, or says that a cancellation was requested', () => {
    expect(reasonOf(task({ reason: 'Starting', cancel_requested: true }))).toBe('Starting');
    expect(reasonOf(task({ cancel_requested: true }))).toBe('cancellation requested');
    expect(reasonOf(task({ state: 'CANCELLED', cancel_requested: true }))).toBeNull();
  });

  test('says whether there can be output', () => {
    expect(hasOutput(task({}))).toBe(false);
    expect(hasOutput(task({ state: 'RUNNING' }))).toBe(true);
    expect(hasOutput(task({ state: 'UNKNOWN' }))).toBe(true);
    expect(hasOutput(task({ state: 'FAILED' }))).toBe(false);
    expect(hasOutput(task({ state: 'FAILED', started_at: '2026-01-15T09:30:00Z' }))).toBe(true);
  });
});

test('the list shows the first words of a command, and shortens long ones', () => {
  expect(shortWords(['a', 'b'])).toEqual(['a', 'b']);
  expect(shortWords(['1', '2', '3', '4', '5', '6', '7'])).toEqual(['1', '2', '3', '4', '5', '6', '…']);
  expect(shortWords(['🚢'.repeat(100)])).toEqual([`${'🚢'.repeat(60)}…`]);
});

test('the output of a task has a path and a command of its own', () => {
  expect(logPath('d1', { task: ID })).toBe(`/v2/deployments/d1/tasks/${ID}/logs?follow=true`);
  expect(logCommand('shop', { task: ID })).toBe(`berth tasks logs shop ${ID}`);
});

test('each component with logs is a choice, and those of the data services run no commands', () => {
  expect(LOGGED_COMPONENTS.filter((each) => !TASK_COMPONENTS.some((other) => other === each))).toEqual([
    'database',
    'cache',
  ]);
});

describe('schedules', () => {
  test('have the newest task of their name as the last run', () => {
    const tasks = [
      task({ id: '3', schedule: null }),
      task({ id: '2', schedule: 'nightly' }),
      task({ id: '1', schedule: 'nightly' }),
    ];
    expect([...lastRuns(tasks)].map(([name, { id }]) => [name, id])).toEqual([['nightly', '2']]);
  });

  test('are suspended and resumed without a change of the others', () => {
    const [nightly, hourly] = [
      { name: 'nightly', schedule: '@daily', command: ['a'], concurrency: 'allow' as const },
      { name: 'hourly', schedule: '@hourly', command: ['b'], suspend: true },
    ];
    const deployment = { source_config: { schedules: [nightly, hourly] } } as unknown as Parameters<
      typeof suspensionPatch
    >[0];
    expect(suspensionPatch(deployment, 'nightly', true)).toEqual({
      source_config: { schedules: [{ ...nightly, suspend: true }, hourly] },
    });
    expect(suspensionPatch(deployment, 'hourly', false)).toEqual({
      source_config: { schedules: [nightly, { ...hourly, suspend: false }] },
    });
  });
});

test('a release command is found in the revision or its Procfile, and its task by the revision', () => {
  const revision = (config: object, effective?: object) =>
    ({ id: 'r2', source_revision_config: config, effective_commands: effective }) as unknown as Revision;
  expect(hasRelease(revision({}))).toBe(false);
  expect(hasRelease(revision({ release_command: ['migrate'] }))).toBe(true);
  expect(hasRelease(revision({}, { release: { command: ['migrate'] } }))).toBe(true);
  const tasks = [
    task({ id: '3', origin: 'api', revision_id: 'r2' }),
    task({ id: '2', origin: 'release', revision_id: 'r1' }),
  ];
  expect(releaseTaskOf(tasks, revision({}))).toBeNull();
  const own = task({ id: '1', origin: 'release', revision_id: 'r2' });
  expect(releaseTaskOf([...tasks, own], revision({}))).toBe(own);
});

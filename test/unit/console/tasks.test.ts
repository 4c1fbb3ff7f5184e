import { describe, expect, test } from 'vitest';
import type { Task } from '../../../src/console/api/types.ts';
import { logCommand, logPath } from '../../../src/console/logs/log-filters.ts';
import {
  commandOf,
  EMPTY_FORM,
  requestOf,
  runCommand,
  wordsOf,
} from '../../../src/console/tasks/task-request.ts';
import {
  hasOutput,
  isFinal,
  lastRun,
  markOf,
  reasonOf,
  releaseOf,
  shortWords,
  timesOf,
} from '../../../src/console/tasks/task-state.ts';

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

describe('a schedule', () => {
  const schedule = { name: 'nightly', schedule: '30 2 * * *', command: ['clean'] };

  test('has its times, its time zone and whether it is suspended', () => {
    expect(timesOf(schedule)).toBe('30 2 * * * (Etc/UTC)');
    expect(timesOf({ ...schedule, time_zone: 'Europe/Berlin', suspend: true })).toBe(
      'suspended, 30 2 * * * (Europe/Berlin)',
    );
  });

  test('has the newest of its runs as its last run', () => {
    const runs = [
      task({ id: 'c', schedule: null }),
      task({ id: 'b', schedule: 'nightly' }),
      task({ id: 'a', schedule: 'nightly' }),
    ];
    expect(lastRun(runs, 'nightly')?.id).toBe('b');
    expect(lastRun(runs, 'hourly')).toBeUndefined();
  });
});

test('the release of a revision is its newest task with that origin', () => {
  const tasks = [
    task({ id: 'd', origin: 'api', revision_id: ID }),
    task({ id: 'c', origin: 'release', revision_id: 'another' }),
    task({ id: 'b', origin: 'release', revision_id: ID }),
  ];
  expect(releaseOf(tasks, ID)?.id).toBe('b');
  expect(releaseOf(tasks, 'a third')).toBeUndefined();
});

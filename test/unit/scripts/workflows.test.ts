import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';

interface Job {
  permissions?: object;
  needs?: string;
  uses?: string;
  steps?: { uses?: string; run?: string; with?: object }[];
}

describe('the workflows', () => {
  const FOLDER = new URL('../../../.github/workflows/', import.meta.url);
  const workflow = (name: string) =>
    parse(readFileSync(new URL(name, FOLDER), 'utf8')) as {
      on: Record<string, unknown>;
      permissions: object;
      jobs: Record<string, Job>;
    };
  const commandsOf = ({ steps = [] }: Job) => steps.flatMap(({ run }) => run ?? []).join('\n');

  test.each(readdirSync(FOLDER))('%s has read rights only, and pins each action by a commit', (name) => {
    const { permissions, jobs } = workflow(name);
    expect(permissions).toEqual({ contents: 'read' });
    expect(Object.values(jobs).filter((job) => 'permissions' in job)).toEqual([]);
    const actions = Object.values(jobs).flatMap(({ steps = [] }) => steps.flatMap(({ uses }) => uses ?? []));
    expect(actions.length).toBeGreaterThan(2);
    expect(actions.filter((action) => !/^actions\/[a-z-]+@[0-9a-f]{40}$/.test(action))).toEqual([]);
  });

  test('a release is built after the long tests have passed', () => {
    const { test: tests, build } = workflow('release.yml').jobs;
    expect(tests?.uses).toBe('./.github/workflows/long-tests.yml');
    expect(build?.needs).toBe('test');
    expect(commandsOf(build ?? {})).toContain('npm run release -- --output release');
  });

  test('the long tests run each night with the whole history, and a skipped test is a failure', () => {
    const { on, jobs } = workflow('long-tests.yml');
    expect(Object.keys(on)).toEqual(['schedule', 'workflow_call', 'workflow_dispatch']);
    expect(commandsOf(jobs['test'] ?? {})).toContain('npm run e2e -- --require');
    expect(jobs['test']?.steps?.[0]?.with).toMatchObject({ 'fetch-depth': 0 });
  });
});

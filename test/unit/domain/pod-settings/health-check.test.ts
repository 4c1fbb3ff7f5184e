import { describe, expect, test } from 'vitest';
import { sourceConfigBodySchema } from '../../../../src/domain/deployment/deployment-bodies.ts';
import { HEALTH_CHECK_LIMITS } from '../../../../src/domain/pod-settings/health-check.ts';

/** Paths below health_checks.api that the schema rejects. */
function rejected(check: object): string[] {
  const { error } = sourceConfigBodySchema.safeParse({ health_checks: { api: check } });
  return (error?.issues ?? []).map(({ path }) => path.slice(2).join('.'));
}

describe('a health check', () => {
  test.each<[string, object, string[]]>([
    ['no type', { path: '/' }, ['type']],
    ['another type', { type: 'grpc' }, ['type']],
    ['an unknown member', { type: 'tcp', scheme: 'https' }, ['']],
    ['a relative path', { type: 'http', path: 'healthz' }, ['path']],
    ['a path with a space', { type: 'http', path: '/a b' }, ['path']],
    ['a path with a fragment', { type: 'http', path: '/a#b' }, ['path']],
    ['a path with a line break', { type: 'http', path: '/a\nb' }, ['path']],
    ['a path that is too long', { type: 'http', path: `/${'a'.repeat(HEALTH_CHECK_LIMITS.path)}` }, ['path']],
    ['port 0', { type: 'tcp', port: 0 }, ['port']],
    ['port 65536', { type: 'tcp', port: 65_536 }, ['port']],
    ['the name of a port', { type: 'tcp', port: 'http' }, ['port']],
    ['a command for http', { type: 'http', command: ['a'] }, ['command']],
    ['a path for tcp', { type: 'tcp', path: '/' }, ['path']],
    ['a port for exec', { type: 'exec', command: ['a'], port: 80 }, ['port']],
    ['no command for exec', { type: 'exec' }, ['command']],
    ['an empty command', { type: 'exec', command: [] }, ['command']],
    ['a command above 4 KiB', { type: 'exec', command: ['ä'.repeat(2047)] }, ['command']],
    ['many arguments above 4 KiB', { type: 'exec', command: Array(64).fill('a'.repeat(62)) }, ['command']],
    ['a time for none', { type: 'none', period_seconds: 5 }, ['period_seconds']],
    ['a time of 0', { type: 'tcp', timeout_seconds: 0 }, ['timeout_seconds']],
    ['a fraction of a second', { type: 'tcp', period_seconds: 1.5 }, ['period_seconds']],
    ['a start that is too long', { type: 'tcp', startup_seconds: 3601 }, ['startup_seconds']],
  ])('is rejected with %s, and the error names the member', (_what, check, paths) => {
    expect(rejected(check)).toEqual(paths);
  });

  test('may have a command of 4 KiB', () => {
    expect(rejected({ type: 'exec', command: ['ä'.repeat(2046)] })).toEqual([]);
    expect(rejected({ type: 'exec', command: Array(64).fill('a'.repeat(60)) })).toEqual([]);
  });

  test('treats null inside it as absent, and null as its value as no check', () => {
    const parsed = sourceConfigBodySchema.parse({
      health_checks: { api: { type: 'http', path: null, port: null }, queue: null },
    });
    expect(parsed.health_checks).toEqual({ api: { type: 'http' }, queue: null });
  });

  test('is rejected for a component that cannot exist', () => {
    expect(sourceConfigBodySchema.safeParse({ health_checks: { web: { type: 'tcp' } } }).success).toBe(false);
  });
});

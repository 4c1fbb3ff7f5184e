import { describe, expect, test } from 'vitest';
import { parseChallenge } from '../../../../src/cluster/image-registry/challenge.ts';

const bearer = (realm: string, service: string | null = null, scope: string | null = null) => ({
  scheme: 'bearer',
  realm,
  service,
  scope,
});

describe('parseChallenge', () => {
  test.each([
    [
      'Bearer realm="https://auth.docker.io/token",service="registry.docker.io",scope="repository:library/nginx:pull"',
      bearer('https://auth.docker.io/token', 'registry.docker.io', 'repository:library/nginx:pull'),
    ],
    ['bearer realm="https://a.example/t"', bearer('https://a.example/t')],
    [
      'Bearer  service=plain , realm="https://a.example/t?x=1,2"',
      bearer('https://a.example/t?x=1,2', 'plain'),
    ],
    ['Bearer realm="with \\"quotes\\""', bearer('with "quotes"')],
    ['Basic realm="Registry"', { scheme: 'basic' }],
    ['Basic', { scheme: 'basic' }],
    ['Basic realm="one", Bearer realm="https://a.example/t"', bearer('https://a.example/t')],
    ['Bearer service="no realm"', null],
    ['Negotiate', null],
    ['', null],
    [undefined, null],
    ['=,=,"', null],
  ])('parses %s', (header, expected) => {
    expect(parseChallenge(header)).toEqual(expected);
  });

  test('reads an endless challenge only up to a limit', () => {
    expect(parseChallenge(`Negotiate ${'a="b",'.repeat(100_000)} Basic`)).toBeNull();
  });
});

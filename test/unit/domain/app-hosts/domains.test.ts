import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { challengeOf, challengeValue } from '../../../../src/domain/app-hosts/challenge.ts';
import {
  domainsBodySchema,
  MAX_DOMAIN_LENGTH,
  MAX_DOMAINS,
  mergeDomains,
} from '../../../../src/domain/app-hosts/domains.ts';
import { domains, spelled } from '../../../arbitraries/domains.ts';

const problems = (hosts: unknown[]) =>
  domainsBodySchema
    .safeParse(hosts)
    .error?.issues.map(({ path, message }) => `${path.join('.')} ${message}`) ?? [];

describe('the list of domains', () => {
  test.each([
    ['Shop.Example.COM', 'shop.example.com'],
    ['shop.example.com.', 'shop.example.com'],
    ['bücher.example', 'xn--bcher-kva.example'],
    ['BÜCHER.example.', 'xn--bcher-kva.example'],
    ['例え.example.com', 'xn--r8jz45g.example.com'],
    ['shop.local', 'shop.local'],
    ['a--b.example.com', 'a--b.example.com'],
  ])('converts %s to %s', (sent, stored) => {
    expect(domainsBodySchema.parse([sent])).toEqual([stored]);
  });

  test.each([
    '',
    '.',
    'shop',
    'localhost',
    'app.localhost',
    'db.svc',
    'x.svc.cluster.local',
    '*.example.com',
    'a.*.example.com',
    'https://shop.example.com',
    'shop.example.com/path',
    'shop.example.com:443',
    'user@shop.example.com',
    'shop.example.com?x',
    'shop.example.com#x',
    'shop.exa%6dple.com',
    'shop example.com',
    ' shop.example.com',
    'shop..example.com',
    'shop.example.com..',
    '-shop.example.com',
    'shop-.example.com',
    'sh_op.example.com',
    '_berth-challenge.example.com',
    '127.0.0.1',
    '0x7f.0.0.1',
    '[::1]',
    `${'a'.repeat(64)}.example.com`,
  ])('rejects %j and names the item', (host) => {
    expect(problems(['a.example.com', host])).toEqual([expect.stringMatching(/^1 must be a DNS name/)]);
  });

  test('rejects control characters, unpaired surrogates and values that are not texts', () => {
    for (const host of ['shop\u0000.example.com', '\ud800.example.com', 7, null, {}])
      expect(problems([host]), String(host)).not.toEqual([]);
  });

  test('rejects a host whose TXT record would have too long a name', () => {
    const host = (length: number) => {
      const labels = 'abcdefghi.'.repeat(30).slice(0, length - 'x.example.com'.length);
      return `${labels}x.example.com`.replaceAll('..', '.a');
    };
    expect(problems([host(MAX_DOMAIN_LENGTH)])).toEqual([]);
    expect(problems([host(MAX_DOMAIN_LENGTH + 1)])).toEqual([
      `0 must not be longer than ${MAX_DOMAIN_LENGTH} characters`,
    ]);
  });

  test('rejects the same host twice in any spelling, and too many hosts', () => {
    expect(problems(['a.example.com', 'b.example.com', 'A.example.com.'])).toEqual([
      "2 must be unique in the list, but 'a.example.com' occurs twice",
    ]);
    const many = Array.from({ length: MAX_DOMAINS + 1 }, (_, n) => `h${n}.example.com`);
    expect(problems(many)).toHaveLength(1);
    expect(problems(many.slice(1))).toEqual([]);
  });

  test('is equal in every spelling', () => {
    fc.assert(
      fc.property(
        domains().chain((hosts) => fc.tuple(fc.constant(hosts), ...hosts.map(spelled))),
        ([hosts, ...sent]) => {
          expect(domainsBodySchema.parse(sent)).toEqual(hosts);
          expect(domainsBodySchema.parse(hosts)).toEqual(hosts);
        },
      ),
    );
  });

  test('is replaced by a PATCH, kept when it is absent, and removed by null and an empty list', () => {
    const stored = { domains: ['a.example.com'] };
    expect(mergeDomains(stored, {})).toEqual(stored);
    expect(mergeDomains(stored, { domains: ['b.example.com'] })).toEqual({ domains: ['b.example.com'] });
    expect(mergeDomains(stored, { domains: null })).toEqual({});
    expect(mergeDomains(stored, { domains: [] })).toEqual({});
    expect(mergeDomains({}, {})).toEqual({});
  });
});

describe('the TXT record', () => {
  test('is below the host, and has one value for all hosts of a tenant', () => {
    const [one, other] = ['a.example.com', 'b.example.com'].map((host) => challengeOf(host, 'apps', 'token'));
    expect(one?.name).toBe('_berth-challenge.a.example.com');
    expect(one?.value).toBe(other?.value);
    expect(one?.value).toMatch(/^berth-[0-9a-f]{64}$/);
  });

  test('has another value for another tenant and in another namespace, and does not contain the token', () => {
    const values = [
      challengeValue('apps', 'token-a'),
      challengeValue('apps', 'token-b'),
      challengeValue('other', 'token-a'),
      challengeValue('apps', undefined),
      challengeValue('appstoken-a', undefined),
    ];
    expect(new Set(values).size).toBe(values.length);
    expect(values.join()).not.toContain('token-a');
  });
});

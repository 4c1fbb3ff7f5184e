import { describe, expect, test } from 'vitest';
import { isOnHost } from '../../../../src/domain/builds/git-host.ts';
import { gitHostUrlSchema } from '../../../../src/domain/net/https-url.ts';
import { isPublicAddress } from '../../../../src/domain/net/networks.ts';
import { PROVIDERS } from '../../../../src/hub/git-host/providers.ts';

describe('the URL of the repository list', () => {
  test.each([
    ['github', 'https://github.com', 'https://api.github.com/user/repos'],
    ['github', 'https://shop.ghe.com', 'https://api.shop.ghe.com/user/repos'],
    ['github', 'https://git.example.com', 'https://git.example.com/api/v3/user/repos'],
    ['github', 'https://notgithub.com:8443', 'https://notgithub.com:8443/api/v3/user/repos'],
    ['gitlab', 'https://gitlab.com', 'https://gitlab.com/api/v4/projects'],
    ['gitlab', 'https://git.example.com/gitlab', 'https://git.example.com/gitlab/api/v4/projects'],
  ] as const)('is that of the API of %s at %s', (provider, hostUrl, expected) => {
    const url = PROVIDERS[provider].url(hostUrl, { number: 3, size: 20 });
    expect(`${url.origin}${url.pathname}`).toBe(expected);
    expect([url.searchParams.get('page'), url.searchParams.get('per_page')]).toEqual(['3', '20']);
  });
});

describe('the response of a provider', () => {
  test('is parsed to the fields that are used', () => {
    const repository = { id: 1, full_name: 'a/b', clone_url: 'https://h/a/b.git', owner: { login: 'a' } };
    expect(PROVIDERS.github.answer.parse([repository])).toEqual([
      { fullName: 'a/b', url: 'https://h/a/b.git', defaultBranch: null, isPrivate: null },
    ]);
    const project = { path_with_namespace: 'a/b', http_url_to_repo: 'https://h/a/b.git' };
    const visible = (visibility?: string) =>
      PROVIDERS.gitlab.answer.parse([{ ...project, default_branch: 'main', visibility }])[0]?.isPrivate;
    expect([visible('public'), visible('internal'), visible('private'), visible()]).toEqual([
      false,
      true,
      true,
      null,
    ]);
  });

  test.each([
    {},
    { message: 'Not Found' },
    null,
    'x',
    [{}],
    [{ full_name: 1 }],
    [{ full_name: 'x'.repeat(5000) }],
  ])('is rejected when it has another form: %j', (answer) => {
    for (const provider of ['github', 'gitlab'] as const) {
      expect(PROVIDERS[provider].answer.safeParse(answer).success).toBe(false);
    }
  });
});

test.each([
  ['https://git.example.com/a/b', 'https://git.example.com', true],
  ['https://GIT.example.com/a/b.git', 'https://git.example.com', true],
  ['https://git.example.com:443/a', 'https://git.example.com', true],
  ['https://git.example.com:444/a', 'https://git.example.com', false],
  ['https://git.example.com.evil.io/a', 'https://git.example.com', false],
  ['https://git.example.com/gitlab/a', 'https://git.example.com/gitlab', true],
  ['https://git.example.com/gitlab', 'https://git.example.com/gitlab', false],
  ['https://git.example.com/gitlab2/a', 'https://git.example.com/gitlab', false],
  ['https://git.example.com/gitlab/../a', 'https://git.example.com/gitlab', false],
])('decides whether %s is on %s: %s', (repository, host, expected) =>
  expect(isOnHost(repository, host)).toBe(expected),
);

test.each([
  ['8.8.8.8', true],
  ['2606:4700::1111', true],
  ['127.0.0.1', false],
  ['10.1.2.3', false],
  ['169.254.169.254', false],
  ['100.64.0.1', false],
  ['0.0.0.0', false],
  ['::', false],
  ['::1', false],
  ['::ffff:8.8.8.8', false],
  ['64:ff9b::a00:1', false],
  ['fe80::1%eth0', false],
  ['fd00::1', false],
  ['2002:a00:1::', false],
])('decides whether the address %s is public: %s', (address, expected) =>
  expect(isPublicAddress(address)).toBe(expected),
);

test.each([
  ['https://git.example.com', true],
  ['https://git.example.com:8443/gitlab/', true],
  ['https://10.0.0.1', true],
  ['http://git.example.com', false],
  ['https://u@git.example.com', false],
  ['https://git.example.com/?a', false],
  ['https://git.example.com/#a', false],
  ['https://git.example.com//a', false],
  ['https://git.example.com/%2fetc', false],
])('decides whether %s is a valid host_url: %s', (url, expected) => {
  expect(gitHostUrlSchema.safeParse(url).success).toBe(expected);
});

import { createHmac } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { repositoryKey } from '../../../src/domain/builds/repository-key.ts';
import { readEvent } from '../../../src/domain/builds/webhook-event.ts';
import { deliveryKeys, isAuthentic, newWebhookSecret } from '../../../src/domain/builds/webhook-signature.ts';

const NOW = new Date('2026-01-15T09:30:00Z');
const SECONDS = String(NOW.getTime() / 1000);
const secret = newWebhookSecret();
const body = Buffer.from('{"ref":"refs/heads/main"}');
const hub = (key: string, data = body) => ({
  'x-hub-signature-256': `sha256=${createHmac('sha256', key).update(data).digest('hex')}`,
});
const standard = (key: string, { id = 'msg_1', time = SECONDS, data = body } = {}) => ({
  'webhook-id': id,
  'webhook-timestamp': time,
  'webhook-signature': `v1,${createHmac('sha256', Buffer.from(key.slice(6), 'base64'))
    .update(`${id}.${time}.${data}`)
    .digest('base64')}`,
});

describe('a delivery', () => {
  test.each([
    ['github', hub(secret)],
    ['git', hub(secret)],
    ['gitlab', { 'x-gitlab-token': secret }],
    ['git', { 'x-gitlab-token': secret }],
    ['gitlab', standard(secret)],
    [
      'gitlab',
      { ...standard(secret), 'webhook-signature': `v1,AAAA ${standard(secret)['webhook-signature']}` },
    ],
  ] as const)('is authentic for %s with the headers %j', (provider, headers) => {
    expect(isAuthentic(provider, { headers, body }, [newWebhookSecret(), secret], NOW)).toBe(true);
    expect(isAuthentic(provider, { headers, body }, [newWebhookSecret()], NOW)).toBe(false);
    expect(isAuthentic(provider, { headers, body }, [], NOW)).toBe(false);
    expect(isAuthentic(provider, { headers: {}, body }, [secret], NOW)).toBe(false);
  });

  test('is authentic in the example of GitHub', () => {
    const headers = {
      'x-hub-signature-256': 'sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17',
    };
    const delivery = { headers, body: Buffer.from('Hello, World!') };
    expect(isAuthentic('github', delivery, ["It's a Secret to Everybody"], NOW)).toBe(true);
  });

  test.each([
    ['another body', 'github', hub(secret, Buffer.from('{}'))],
    ['SHA-1', 'github', { 'x-hub-signature': hub(secret)['x-hub-signature-256'] }],
    ['no sha256=', 'github', { 'x-hub-signature-256': hub(secret)['x-hub-signature-256'].slice(7) }],
    ['the form of another host', 'github', { 'x-gitlab-token': secret }],
    ['the form of another host', 'gitlab', hub(secret)],
    ['a list', 'gitlab', { 'x-gitlab-token': [secret, secret] }],
    ['a secret that is cut', 'gitlab', { 'x-gitlab-token': secret.slice(0, -1) }],
    ['a wrong signature beside the token', 'gitlab', { ...standard('whsec_AAAA'), 'x-gitlab-token': secret }],
    ['another time', 'gitlab', { ...standard(secret), 'webhook-timestamp': String(Number(SECONDS) + 1) }],
    ['another id', 'gitlab', { ...standard(secret), 'webhook-id': 'msg_2' }],
    ['a signature of last week', 'gitlab', standard(secret, { time: String(Number(SECONDS) - 8 * 86_400) })],
    ['a signature of next week', 'gitlab', standard(secret, { time: String(Number(SECONDS) + 8 * 86_400) })],
    ['no time', 'gitlab', standard(secret, { time: 'soon' })],
  ] as const)('is not authentic with %s (%s)', (_what, provider, headers) => {
    expect(isAuthentic(provider, { headers, body } as never, [secret], NOW)).toBe(false);
  });

  test('is not authentic by chance', () => {
    fc.assert(
      fc.property(fc.string(), fc.uint8Array(), (value, data) => {
        for (const name of ['x-hub-signature-256', 'x-gitlab-token', 'webhook-signature']) {
          const delivery = { headers: { [name]: value }, body: Buffer.from(data) };
          expect(isAuthentic('git', delivery, [secret], NOW)).toBe(false);
        }
      }),
    );
  });
});

describe('the keys of deliveries', () => {
  const digest = expect.stringMatching(/^sha256:[0-9a-f]{64}$/);
  test.each([
    [{ 'x-github-delivery': 'a', ...hub(secret) }, ['a', digest]],
    [
      { 'x-gitlab-event-uuid': 'u', 'idempotency-key': 'k', 'x-gitlab-token': secret },
      [expect.stringMatching(/^k sha256:[0-9a-f]{64}$/)],
    ],
    [{ ...standard(secret), 'idempotency-key': 'k' }, ['msg_1']],
    [{ 'x-gitlab-event-uuid': 'u' }, [expect.stringMatching(/^u sha256:[0-9a-f]{64}$/)]],
    [{}, [digest]],
    [{ 'x-gitlab-event-uuid': 'with blank' }, [digest]],
    [{ 'x-gitlab-event-uuid': 'x'.repeat(500) }, [digest]],
  ])('are derived from the headers %j', (headers, expected) => {
    expect(deliveryKeys({ headers, body })).toEqual(expected);
  });
});

describe('the name of a repository', () => {
  test.each([
    'https://git.example.com/Shop/Web',
    'https://git.example.com/shop/web.git',
    'https://GIT.example.com/shop/web/',
    'https://git.example.com:8443/shop/web.git/',
    'https://git.example.com/shop/we%62.git',
    'ssh://git@git.example.com:2222/shop/web.git',
    'git@git.example.com:shop/web.git',
    'git.example.com:/shop/web',
    'http://git.example.com/shop//web',
  ])('is the same for %s', (url) => {
    expect(repositoryKey(url)).toBe('git.example.com/shop/web');
  });

  test.each([
    '',
    'shop/web',
    'https://git.example.com',
    'https://git.example.com/.git',
    'git@:x',
    'https://%',
  ])('is null for %j', (url) => expect(repositoryKey(url)).toBeNull());

  test('is the same for every spelling, and differs for another repository', () => {
    const name = fc.stringMatching(/^[a-z0-9][a-z0-9_-]{0,10}$/);
    const forms = [
      (path: string) => `https://h.example.com/${path}`,
      (path: string) => `https://h.example.com/${path.toUpperCase()}.git`,
      (path: string) => `git@h.example.com:${path}.git`,
      (path: string) => `ssh://git@h.example.com:22/${path}/`,
    ];
    fc.assert(
      fc.property(name, name, name, (group, one, other) => {
        const keys = new Set(forms.map((form) => repositoryKey(form(`${group}/${one}`))));
        expect([...keys]).toEqual([`h.example.com/${group}/${one}`]);
        if (one !== other)
          expect(keys.has(repositoryKey(`https://h.example.com/${group}/${other}`))).toBe(false);
      }),
    );
  });

  test('causes no exception for any other text', () => {
    fc.assert(fc.property(fc.oneof(fc.string(), fc.webUrl()), (url) => void repositoryKey(url)));
  });
});

const [A, B, NONE] = ['a'.repeat(40), 'b'.repeat(40), '0'.repeat(40)];
const github = (more: object = {}) => ({
  ref: 'refs/heads/main',
  before: A,
  after: B,
  commits: [{ message: 'a change [skip ci]' }],
  repository: {
    clone_url: 'https://github.com/shop/web.git',
    html_url: 'https://github.com/shop/web',
    ssh_url: 'git@github.com:shop/web.git',
    default_branch: 'main',
  },
  ...more,
});

describe('readEvent', () => {
  test('reads a push of GitHub', () => {
    expect(readEvent({ 'x-github-event': 'push' }, github())).toEqual({
      kind: 'branch',
      repositories: new Set(['github.com/shop/web']),
      defaultBranch: 'main',
      push: { branch: 'main', before: A, after: B },
    });
  });

  test('reads a push of GitLab', () => {
    const payload = {
      object_kind: 'push',
      ref: 'refs/heads/feature/a',
      before: NONE,
      after: B,
      project: {
        default_branch: 'trunk',
        git_http_url: 'https://git.example.com/gitlab/shop/web.git',
        git_ssh_url: 'git@git.example.com:shop/web.git',
        web_url: 'https://git.example.com/gitlab/shop/web',
      },
    };
    expect(readEvent({}, payload)).toEqual({
      kind: 'branch',
      repositories: new Set(['git.example.com/gitlab/shop/web']),
      defaultBranch: 'trunk',
      push: { branch: 'feature/a', before: null, after: B },
    });
  });

  test('ignores the fields of a repository that its owner can set freely', () => {
    const { repository } = github();
    const forged = github({ repository: { ...repository, homepage: 'https://github.com/shop/payments' } });
    expect(readEvent({ 'x-github-event': 'push' }, forged)).toMatchObject({
      repositories: new Set(['github.com/shop/web']),
    });
  });

  test('reads a deletion', () => {
    expect(readEvent({ 'x-github-event': 'push' }, github({ after: NONE }))).toMatchObject({
      push: { after: null },
    });
  });

  test.each([
    ['a ping', { 'x-github-event': 'ping' }, { zen: 'x' }, 'ping'],
    ['a tag', { 'x-github-event': 'push' }, github({ ref: 'refs/tags/v1' }), 'push'],
    ['a tag of GitLab', {}, { object_kind: 'tag_push', ref: 'refs/tags/v1' }, 'tag_push'],
    ['an issue', { 'x-github-event': 'issues' }, github(), 'issues'],
    ['something else', {}, {}, 'unknown'],
  ])('ignores %s', (_what, headers, payload, name) => {
    expect(readEvent(headers, payload)).toEqual({ kind: 'ignored', name });
  });

  test.each([
    { ref: undefined },
    { ref: 'refs/heads/a\u0000' },
    { ref: `refs/heads/${'x'.repeat(300)}` },
    { after: 'HEAD' },
    { before: null },
    { repository: 'x' },
  ])('rejects a push with %j', (more) => {
    expect(readEvent({ 'x-github-event': 'push' }, github(more))).toBeInstanceOf(z.ZodError);
  });
});

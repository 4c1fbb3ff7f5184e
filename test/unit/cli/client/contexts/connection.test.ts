import { expect, test } from 'vitest';
import {
  connectionOf,
  environmentNote,
  isReadableOnTheWay,
} from '../../../../../src/cli/client/contexts/connection.ts';
import type { Contexts } from '../../../../../src/cli/client/contexts/store.ts';

const contexts: Contexts = {
  current: 'one',
  contexts: {
    one: { url: 'https://one.example', api_key: 'key-one', tenant_id: 'tenant-one' },
    two: { url: 'https://two.example/base', api_key: 'key-two' },
  },
};
const loggedIn: Contexts = {
  current: 'me',
  contexts: {
    me: { url: 'https://one.example', access_token: 'berth_at_x', expires_at: '2026-11-30T12:00:00Z' },
  },
};
const none: Contexts = { current: null, contexts: {} };

type Settings = Parameters<typeof connectionOf>[1];
const settings = (more: Partial<Settings> = {}): Settings => ({
  url: undefined,
  apiKey: undefined,
  tenantId: undefined,
  ...more,
});

test.each<[string, Parameters<typeof connectionOf>, object]>([
  [
    'the current context',
    [{}, settings(), contexts],
    { url: 'https://one.example', credential: { apiKey: 'key-one' }, tenantId: 'tenant-one', context: 'one' },
  ],
  [
    'the named context',
    [{ context: 'two' }, settings(), contexts],
    { url: 'https://two.example/base', credential: { apiKey: 'key-two' }, tenantId: null, context: 'two' },
  ],
  [
    'the named context instead of the environment',
    [{ context: 'two' }, settings({ url: 'https://e.example', apiKey: 'e', tenantId: 'e' }), contexts],
    { url: 'https://two.example/base', credential: { apiKey: 'key-two' }, tenantId: null },
  ],
  [
    'the environment instead of the current context',
    [{}, settings({ url: 'https://e.example', apiKey: 'e' }), contexts],
    { url: 'https://e.example', credential: { apiKey: 'e' }, tenantId: null, context: null },
  ],
  [
    'the key of the environment with the URL of the option, without the tenant of the context',
    [{ url: 'https://one.example' }, settings({ apiKey: 'e' }), contexts],
    { url: 'https://one.example', credential: { apiKey: 'e' }, tenantId: null, context: null },
  ],
  [
    'the tenant of the environment with the current context',
    [{}, settings({ tenantId: 'e' }), contexts],
    { credential: { apiKey: 'key-one' }, tenantId: 'e' },
  ],
  [
    'another path of the same API with the stored key',
    [{ url: 'https://one.example/proxy' }, settings(), contexts],
    { url: 'https://one.example/proxy', credential: { apiKey: 'key-one' } },
  ],
  [
    'the URL of the option before that of the environment',
    [{ url: 'https://o.example' }, settings({ url: 'https://e.example', apiKey: 'e' }), none],
    { url: 'https://o.example', credential: { apiKey: 'e' } },
  ],
  [
    'the token of the current context',
    [{}, settings(), loggedIn, new Date('2026-11-30T11:59:59Z')],
    { url: 'https://one.example', credential: { accessToken: 'berth_at_x' }, tenantId: null, context: 'me' },
  ],
  [
    'the token of the pipeline instead of the current context',
    [{}, settings({ url: 'https://e.example', idToken: 'jwt', idTokenFile: '/f' }), contexts],
    { url: 'https://e.example', credential: { idToken: { value: 'jwt' } }, context: null },
  ],
  [
    'the file with the token of the pipeline',
    [{}, settings({ url: 'https://e.example', idTokenFile: '/f', tenantId: 't' }), none],
    { credential: { idToken: { file: '/f' } }, tenantId: 't' },
  ],
  [
    'the key of the environment before the token of the pipeline',
    [{}, settings({ url: 'https://e.example', apiKey: 'e', idToken: 'jwt' }), none],
    { credential: { apiKey: 'e' } },
  ],
  [
    'the environment when the current context was removed',
    [{}, settings({ url: 'https://e.example', apiKey: 'e' }), { ...contexts, current: 'gone' }],
    { url: 'https://e.example', credential: { apiKey: 'e' } },
  ],
])('uses %s', (_what, given, expected) => {
  expect(connectionOf(...given)).toMatchObject(expected);
});

test.each<[string, Parameters<typeof connectionOf>, string]>([
  ['there is no URL', [{}, settings({ apiKey: 'e' }), none], 'BERTH_URL is not set: run berth login'],
  ['there is no key', [{}, settings({ url: 'https://e.example' }), none], 'BERTH_API_KEY is not set: run'],
  [
    'the stored key is for another API',
    [{ url: 'https://other.example' }, settings(), contexts],
    'BERTH_API_KEY is not set (the key of the context one is for https://one.example)',
  ],
  [
    'the environment names another API',
    [{}, settings({ url: 'http://one.example' }), contexts],
    'BERTH_API_KEY is not set (the key of the context one is for https://one.example)',
  ],
  [
    'only the key is in the environment',
    [{}, settings({ apiKey: 'e' }), contexts],
    'it is not sent to the URL of the context one: set BERTH_URL, or unset BERTH_API_KEY',
  ],
  [
    'only the token of the pipeline is in the environment',
    [{}, settings({ idToken: 'jwt' }), contexts],
    'BERTH_ID_TOKEN is set without BERTH_URL, so it is not sent to the URL of the context one',
  ],
  [
    'the login of the context has expired',
    [{}, settings(), loggedIn, new Date('2026-11-30T12:00:00Z')],
    'the login of the context me expired at 2026-11-30T12:00:00Z: run berth login',
  ],
  [
    '--context and --url name different APIs',
    [{ context: 'two', url: 'https://one.example' }, settings({ apiKey: 'e' }), contexts],
    'the key of the context two is for https://two.example: remove --url or --context',
  ],
  ['the context does not exist', [{ context: 'x' }, settings(), contexts], 'use one of one, two'],
  ['there are no contexts', [{ context: 'x' }, settings(), none], 'berth login creates one'],
  ['the name is a member of every object', [{ context: 'toString' }, settings(), contexts], 'no context'],
  ['the URL is not valid', [{ url: 'example.com' }, settings({ apiKey: 'e' }), none], 'an http or https URL'],
])('reports wrong usage without a key when %s', (_what, given, message) => {
  let text = '';
  try {
    connectionOf(...given);
  } catch (error) {
    text = String(error);
  }
  expect(text).toMatch(/^UsageError: /);
  expect(text).toContain(message);
  expect(text).not.toContain('key-one');
});

test.each([
  ['https://one.example', false],
  ['http://one.example', true],
  ['http://192.168.1.5:8080', true],
  ['http://127.0.0.1.example', true],
  ['http://localhost.example', true],
  ['http://localhost:8080', false],
  ['http://berth.localhost', false],
  ['http://127.0.0.1:8080', false],
  ['http://127.1', false],
  ['http://[::1]:8080', false],
])('knows whether others can read a key that is sent to %s', (url, expected) => {
  expect(isReadableOnTheWay(url)).toBe(expected);
});

const URL_AND_KEY =
  'BERTH_URL and BERTH_API_KEY take precedence over the context; next: unset BERTH_URL BERTH_API_KEY';

test.each<[string, Partial<Settings>, string | null]>([
  ['is empty', {}, null],
  ['has the URL of the context', { url: 'https://one.example' }, null],
  ['has the tenant of the context', { tenantId: 'tenant-one' }, null],
  ['has URL and key', { url: 'https://one.example', apiKey: 'e' }, URL_AND_KEY],
  [
    'has only a key',
    { apiKey: 'e' },
    'commands fail while BERTH_API_KEY is set without BERTH_URL; next: unset BERTH_API_KEY',
  ],
  [
    'has another URL',
    { url: 'https://e.example' },
    'BERTH_URL takes precedence over the context; next: unset BERTH_URL',
  ],
  [
    'has another URL and tenant',
    { url: 'https://e.example', tenantId: 'e' },
    'BERTH_URL and BERTH_TENANT_ID take precedence over the context; next: unset BERTH_URL BERTH_TENANT_ID',
  ],
])('notes what the environment changes when it %s', (_what, environment, note) => {
  const stored = contexts.contexts['one'] ?? { url: '', api_key: '' };
  const end = ', or pass --context one';
  expect(environmentNote('one', settings(environment), stored)).toBe(note && `${note}${end}`);
});

test.each<Partial<Settings>>([{ apiKey: 'e' }, { url: 'https://e.example' }])(
  'the note is right that commands do not use the context: %j',
  (environment) => {
    expect(() => connectionOf({}, settings(environment), contexts)).toThrow(/BERTH_API_KEY is/);
  },
);

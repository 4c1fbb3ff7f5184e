import { describe, expect, test } from 'vitest';
import { credentialsFor } from '../../../../src/cluster/image-registry/docker-config.ts';

const base64 = (text: string) => Buffer.from(text).toString('base64');
const secret = (auths: object) => ({ '.dockerconfigjson': base64(JSON.stringify({ auths })) });
const entry = (user: string) => ({ auth: base64(`${user}:pass:word`) });
const users = (data: Record<string, string>, host: string, repository = 'team/app') =>
  credentialsFor(data, { host, repository }).map(({ username }) => username);

describe('credentials of a Secret', () => {
  test('are read from auth, and from user and password', () => {
    const at = { host: 'r.example', repository: 'app' };
    const expected = [{ username: 'ann', password: 'pass:word' }];
    expect(credentialsFor(secret({ 'r.example': entry('ann') }), at)).toEqual(expected);
    const plain = { username: 'ann', password: 'pass:word' };
    expect(credentialsFor(secret({ 'r.example': plain }), at)).toEqual(expected);
  });

  test('are read from the older format without auths', () => {
    const data = { '.dockercfg': base64(JSON.stringify({ 'https://r.example': entry('old') })) };
    expect(users(data, 'r.example')).toEqual(['old']);
  });

  test('apply only to their registry', () => {
    const data = secret({ 'r.example': entry('ann'), 'r.example:5000': entry('port') });
    expect(users(data, 'r.example')).toEqual(['ann']);
    expect(users(data, 'r.example:5000')).toEqual(['port']);
    expect(users(data, 'evil.example')).toEqual([]);
    expect(users(data, 'r.example.evil.example')).toEqual([]);
  });

  test('are found for Docker Hub under each of its names', () => {
    for (const name of [
      'https://index.docker.io/v1/',
      'docker.io',
      'index.docker.io',
      'registry-1.docker.io',
    ])
      expect(users(secret({ [name]: entry('hub') }), 'docker.io', 'library/nginx')).toEqual(['hub']);
  });

  test('are ordered from the longest path to the shortest, without those of other paths', () => {
    const data = secret({
      'r.example': entry('all'),
      'r.example/team': entry('team'),
      'r.example/team/app': entry('app'),
      'r.example/te': entry('part of a name'),
      'r.example/other': entry('other'),
    });
    expect(users(data, 'r.example')).toEqual(['app', 'team', 'all']);
  });

  test('match one label of the host name for a wildcard', () => {
    const data = secret({ '*.r.example': entry('any') });
    expect(users(data, 'eu.r.example')).toEqual(['any']);
    expect(users(data, 'a.eu.r.example')).toEqual([]);
    expect(users(data, 'r.example')).toEqual([]);
  });

  test.each([
    ['no keys', {}],
    ['invalid JSON', { '.dockerconfigjson': base64('{') }],
    ['a list', { '.dockerconfigjson': base64('[1]') }],
    ['null', { '.dockerconfigjson': base64('null') }],
    ['auth without a colon', secret({ 'r.example': { auth: base64('ann') } })],
    ['an invalid auth', secret({ 'r.example': { auth: 5 } })],
    ['an empty entry', secret({ 'r.example': null })],
  ])('are empty when the Secret contains %s', (_, data) => {
    expect(users(data as Record<string, string>, 'r.example')).toEqual([]);
  });
});

import { expect, test } from 'vitest';
import { appUrlSchema, gitHostUrlSchema, repositoryUrlSchema } from '../../../../src/domain/net/https-url.ts';

test.each([
  'https://app.example.com',
  'https://App.Example.com/',
  'https://app.example.com/v1/shop-2',
  'https://bücher.example',
  'https://shop.corp.internal',
])('accepts %s as the URL of an app', (url) => {
  expect(appUrlSchema.safeParse(url).error).toBeUndefined();
});

test.each([
  '',
  'app.example.com',
  'http://app.example.com',
  'ftp://app.example.com',
  'https://',
  'https://app',
  'https://localhost',
  'https://a.localhost',
  'https://web.default.svc.cluster.local',
  'https://1.2.3.4',
  'https://[2606:4700::1]',
  'https://app.example.com:8443',
  'https://user@app.example.com',
  'https://app.example.com?x=1',
  'https://app.example.com/#x',
  'https://app.example.com//a',
  'https://app.example.com/a b',
  'https://app.example.com/%2e%2e/%2fetc',
  'https://app.example.com/{x}',
  'https://*.example.com',
  'https://-a.example.com',
  'https://a_b.example.com',
  `https://${'a'.repeat(64)}.example.com`,
  'https:\\\\app.example.com',
  'https://app.example.com\n.evil.io',
])('rejects %j as the URL of an app', (url) => {
  expect(appUrlSchema.safeParse(url).success).toBe(false);
});

test.each([
  'https://git.example.com/team/app.git',
  'https://git.example.com:8443/app',
  'https://8.8.8.8/app',
  'https://[2606:4700::1111]/app',
])('accepts %s as the URL of a repository', (url) => {
  expect(repositoryUrlSchema.safeParse(url).error).toBeUndefined();
});

test.each([
  'http://git.example.com/app',
  'git@git.example.com:app',
  'ssh://git.example.com/app',
  'file:///etc/passwd',
  'https://token@git.example.com/app',
  'https://localhost/app',
  'https://git/app',
  'https://metadata.google.internal/app',
  'https://git.svc.cluster.local/app',
  'https://127.0.0.1/app',
  'https://10.1.2.3/app',
  'https://100.64.0.1/app',
  'https://169.254.169.254/app',
  'https://172.31.255.255/app',
  'https://192.168.0.1/app',
  'https://2130706433/app',
  'https://0x7f.0.0.1/app',
  'https://0/app',
  'https://[::1]/app',
  'https://[::ffff:10.0.0.1]/app',
  'https://[fd00::1]/app',
  'https://[fe80::1]/app',
  'https://[64:ff9b::a00:1]/app',
  'https://[2002:a00:1::]/app',
  'https://255.255.255.255/app',
])('rejects %s as the URL of a repository', (url) => {
  expect(repositoryUrlSchema.safeParse(url).success).toBe(false);
});

test.each([appUrlSchema, gitHostUrlSchema, repositoryUrlSchema])(
  'names a dot at the end of the host as the problem (schema %#)',
  (schema) => {
    const { error } = schema.safeParse('https://git.example.com./shop');
    expect(error?.issues.map(({ message }) => message)).toEqual(['its host must not end with a dot']);
  },
);

import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { configOf, defaultOf, lastStage, mergeConfig } from '../../../../scripts/release/dockerfile.ts';

const DOCKERFILE = readFileSync(new URL('../../../../Dockerfile', import.meta.url), 'utf8');

test('reads the configuration of the image from the last stage of the Dockerfile', () => {
  const { Healthcheck, ...config } = configOf(DOCKERFILE);
  expect(config).toEqual({
    WorkingDir: '/app',
    Env: ['NODE_ENV=production', 'BERTH_HOST=0.0.0.0', 'NODE_OPTIONS=--max-semi-space-size=16'],
    Labels: {
      'org.opencontainers.image.title': 'berth',
      'org.opencontainers.image.licenses': 'Apache-2.0',
      'dev.berth.sbom': '/app/sbom.cdx.json',
    },
    User: '10001:10001',
    ExposedPorts: { '8080/tcp': {}, '9090/tcp': {} },
    Entrypoint: ['node', '/app/src/main.js'],
    Cmd: ['all'],
  });
  expect(Healthcheck).toEqual({
    Test: ['CMD', 'node', '-e', expect.stringContaining('/healthz')],
    Interval: 10e9,
    Timeout: 3e9,
    StartPeriod: 60e9,
  });
});

test('the release puts the files into the image that the Dockerfile copies', () => {
  // scripts/release/app-files.ts writes these files. Change it with these lines.
  const changes = lastStage(DOCKERFILE).filter(({ name }) => name === 'COPY' || name === 'ADD');
  expect(changes.map(({ rest }) => rest)).toEqual([
    '--from=dependencies /app/node_modules ./node_modules',
    '--from=dependencies /app/sbom.cdx.json ./',
    'package.json LICENSE ./',
    'crds ./crds',
    '--from=sources /app/src ./src',
    '--from=console /app/dist/console ./dist/console',
  ]);
  // The only command installs git, which bases of the release contain.
  const commands = lastStage(DOCKERFILE).filter(({ name }) => name === 'RUN');
  expect(commands.map(({ rest }) => rest)).toEqual([expect.stringMatching(/^git --version/)]);
});

test('reads the default of an argument, and names a missing one', () => {
  const base = defaultOf('RELEASE_IMAGE', DOCKERFILE);
  expect(base).toMatch(/^docker\.io\/library\/node:24/);
  // Slim images do not contain git.
  expect(defaultOf('NODE_IMAGE', DOCKERFILE)).toBe(`${base}-slim`);
  expect(() => defaultOf('OTHER', DOCKERFILE)).toThrow('it has no ARG OTHER=…');
});

test('keeps variables, labels and ports of a base that the image does not set', () => {
  const base = {
    Env: ['PATH=/usr/bin', 'NODE_ENV=development'],
    Labels: { a: '1', b: '1' },
    Cmd: ['node'],
    ExposedPorts: { '1/tcp': {} },
  };
  const own = configOf(
    'FROM x\nENV NODE_ENV=production C="two words"\nLABEL b=2\nEXPOSE 2\nENTRYPOINT ["x"]',
  );
  expect(mergeConfig(base, own)).toEqual({
    Env: ['PATH=/usr/bin', 'NODE_ENV=production', 'C=two words'],
    Labels: { a: '1', b: '2' },
    Entrypoint: ['x'],
    Cmd: [],
    ExposedPorts: { '1/tcp': {}, '2/tcp': {} },
  });
});

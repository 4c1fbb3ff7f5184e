import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { nextSteps } from '../../../scripts/demo/next-steps.ts';
import { HELP } from '../../../scripts/demo/options.ts';

const stack = {
  url: 'http://127.0.0.1:8080',
  apiKey: 'key-of-the-demo',
  tenantId: 'tenant',
  databaseUrl: 'postgres://localhost/demo',
  kubeconfigPath: '/state/admin.kubeconfig',
  kubectlPath: '/bin/kubectl',
  namespace: 'berth-demo',
  logPath: '/state/berth.log',
  builds: null,
  offersBuilds: false,
};

test('says where the console is, and how to sign in', () => {
  expect(nextSteps(stack, '.berth/demo.env', [])).toContain(
    'console http://localhost:8080/console   sign in with this API key: key-of-the-demo',
  );
});

test('has each option of the demo that the documentation names', () => {
  const texts = ['README.md', 'docs/console.md', 'docs/api.md'].map((file) =>
    readFileSync(new URL(`../../../${file}`, import.meta.url), 'utf8'),
  );
  const named = texts.flatMap((text) =>
    [...text.matchAll(/npm run demo -- (--[a-z-]+)/g)].map(([, option]) => option ?? ''),
  );
  expect(named).toContain('--failing');
  expect(named.filter((option) => !HELP.includes(`\n  ${option} `))).toEqual([]);
});

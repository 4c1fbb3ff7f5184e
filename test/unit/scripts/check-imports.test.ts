import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { brokenImportRules, strayEnvironmentReads } from '../../../scripts/check-imports.ts';

const roots: string[] = [];
afterEach(() => {
  for (const root of roots.splice(0)) rmSync(root, { recursive: true });
});

function project(files: Record<string, string>): string {
  const root = mkdtempSync(join(tmpdir(), 'berth-imports-'));
  roots.push(root);
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  return root;
}

describe('the import rules', () => {
  test.each([
    ['src/api/app.ts', `import { x } from '../kube/client.ts';`, 'api may import'],
    ['src/api/app.ts', `import type { X } from '../operator/plan.ts';`, 'api may import'],
    ['src/domain/a.ts', `import pg from 'pg';`, 'only store may import pg'],
    ['src/domain/a.ts', `import { readFileSync } from 'node:fs';`, 'domain imports no package but'],
    [
      'src/domain/a.ts',
      `import {\n  a,\n  b,\n} from '../contract/names.ts';`,
      'domain may import no other room',
    ],
    ['src/store/a.ts', `export { x } from '../api/app.ts';`, 'store may import'],
    [
      'src/operator/a.ts',
      `import { V1Pod } from '@kubernetes/client-node';`,
      'may import @kubernetes/client-node',
    ],
    ['src/listener/a.ts', `const x = await import('drizzle-orm');`, 'only store may import'],
    ['src/api/a.ts', `import { x } from '../../test/x.ts';`, 'nothing outside src/'],
    ['src/api/a.ts', `import { x } from './b';`, 'with its ending'],
    ['src/attic/a.ts', `import { x } from '../domain/a.ts';`, 'attic is not a room'],
    ['src/config.ts', `import { x } from './store/database.ts';`, 'config.ts may import'],
    ['src/config/a.ts', `import { x } from '../store/database.ts';`, 'config may import'],
    ['src/config/a.ts', `import { x } from '../config.ts';`, 'config may import'],
    ['src/roles.ts', `import { x } from './config/settings.ts';`, 'only config.ts may import config'],
    ['src/api/a.ts', `import { x } from '../config/settings.ts';`, 'only config.ts may import config'],
  ])('%s: %s is refused', (path, text, rule) => {
    expect(brokenImportRules(project({ [path]: text }))).toEqual([expect.stringContaining(rule)]);
  });

  test.each([
    ['src/api/app.ts', `import { x } from '../store/database.ts';\nimport fastify from 'fastify';`],
    ['src/operator/a.ts', `import type { V1Pod } from '@kubernetes/client-node';`],
    ['src/roles.ts', `import { x } from './kube/client.ts';\nimport { y } from './api/app.ts';`],
    ['src/kube/a.ts', `import type { V1Pod } from '@kubernetes/client-node';`],
    ['src/config.ts', `import { x } from './config/settings.ts';\nimport { y } from './domain/a.ts';`],
    ['src/config/a.ts', `import { x } from '../contract/a.ts';\nimport { y } from './b.ts';`],
  ])('%s: %s is allowed', (path, text) => {
    expect(brokenImportRules(project({ [path]: text }))).toEqual([]);
  });

  test('the environment is read in one place', () => {
    const root = project({
      'src/config.ts': 'process.env',
      'src/config/a.ts': 'const x = process.env;',
      'src/api/a.ts': 'const x = process.env;',
    });
    expect(strayEnvironmentReads(root).sort()).toEqual([
      expect.stringContaining('src/api/a.ts'),
      expect.stringContaining('src/config/a.ts'),
    ]);
  });
});

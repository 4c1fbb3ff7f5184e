import { describe, expect, test } from 'vitest';
import { brokenImportRules, strayEnvironmentReads } from '../../../scripts/check-imports.ts';
import { project } from './project.ts';

describe('the import rules', () => {
  test.each([
    ['src/hub/api/core/app.ts', `import { x } from '../../../cluster/kube/client.ts';`, 'hub/api may import'],
    ['src/hub/api/app.ts', `import type { X } from '../../cluster/operator/plan.ts';`, 'hub/api may import'],
    ['src/domain/a.ts', `import pg from 'pg';`, 'only hub/store may import pg'],
    ['src/domain/net/a.ts', `import { readFileSync } from 'node:fs';`, 'domain imports no package but'],
    [
      'src/domain/a.ts',
      `import {\n  a,\n  b,\n} from '../contract/names.ts';`,
      'domain may import no other module',
    ],
    ['src/hub/store/a.ts', `export { x } from '../api/app.ts';`, 'hub/store may import'],
    [
      'src/cluster/operator/a.ts',
      `import { V1Pod } from '@kubernetes/client-node';`,
      'may import @kubernetes/client-node',
    ],
    ['src/hub/git-host/a.ts', `import { request } from 'node:https';`, 'only outbound'],
    ['src/cluster/listener/a.ts', `const x = await import('drizzle-orm');`, 'only hub/store may import'],
    ['src/hub/api/a.ts', `import { x } from '../../../test/x.ts';`, 'nothing outside src/'],
    ['src/hub/api/a.ts', `import { x } from './b';`, 'with its ending'],
    ['src/attic/a.ts', `import { x } from '../domain/a.ts';`, 'attic is not a module'],
    ['src/hub/attic/a.ts', `import { x } from '../../domain/a.ts';`, 'hub is not a module'],
    ['src/config/index.ts', `import { x } from '../hub/store/database.ts';`, 'config may import'],
    ['src/app/roles.ts', `import { x } from '../config/settings.ts';`, 'only config may import'],
    ['src/hub/api/a.ts', `import { x } from '../../config/index.ts';`, 'may import config'],
    ['src/cli/client/a.ts', `import { x } from '../keys.ts';`, 'cli/client may import cli/command, not cli'],
  ])('reject %s with %s', (path, text, rule) => {
    expect(brokenImportRules(project({ [path]: text }))).toEqual([expect.stringContaining(rule)]);
  });

  test.each([
    ['src/hub/api/app.ts', `import { x } from '../store/database.ts';\nimport fastify from 'fastify';`],
    ['src/hub/api/logs/a.ts', `import { x } from '../core/app.ts';`],
    ['src/cluster/operator/a.ts', `import type { V1Pod } from '@kubernetes/client-node';`],
    ['src/app/roles.ts', `import { x } from '../cluster/kube/a.ts';\nimport { y } from '../hub/api/app.ts';`],
    ['src/app/roles.ts', `import { x } from '../config/index.ts';`],
    ['src/cluster/kube/a.ts', `import type { V1Pod } from '@kubernetes/client-node';`],
    ['src/config/a.ts', `import { x } from '../contract/a.ts';\nimport { y } from './b.ts';`],
  ])('accept %s with %s', (path, text) => {
    expect(brokenImportRules(project({ [path]: text }))).toEqual([]);
  });

  test('report reads of the environment outside of the settings', () => {
    const root = project({
      'src/config/index.ts': 'process.env',
      'src/config/a.ts': 'const x = process.env;',
      'src/hub/api/a.ts': 'const x = process.env;',
    });
    expect(strayEnvironmentReads(root).sort()).toEqual([
      expect.stringContaining('src/config/a.ts'),
      expect.stringContaining('src/hub/api/a.ts'),
    ]);
  });
});

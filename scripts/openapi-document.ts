/**
 * Prints the OpenAPI document. It needs no database, because the routes only declare their schemas.
 *
 *   node scripts/openapi-document.ts [--help]
 */
import { readFileSync } from 'node:fs';
import { resolvePolicy } from '../src/domain/policy/policy.ts';
import { buildApp } from '../src/hub/api/core/app.ts';
import type { ApiDeps } from '../src/hub/api/core/deps.ts';
import { createWorkHints } from '../src/hub/api/listeners/work-hints.ts';

/** Placeholder for a dependency that route declarations must not use. */
function absent(name: string): never {
  return new Proxy(
    {},
    {
      get() {
        throw new Error(`failed to make the document: a route reaches for the ${name} while it is declared`);
      },
    },
  ) as never;
}

const packageFile = new URL('../package.json', import.meta.url);

/** Placeholder dependencies to declare the routes. They serve no requests. */
export function declaringDeps(): ApiDeps {
  const { version } = JSON.parse(readFileSync(packageFile, 'utf8')) as { version: string };
  const quiet = () => undefined;
  return {
    database: absent('database'),
    secretBox: absent('secret box'),
    policy: resolvePolicy('self_hosted'),
    hosting: 'self_hosted',
    logger: { debug: quiet, info: quiet, warn: quiet, error: quiet },
    hints: createWorkHints(),
    leaseSeconds: 60,
    version,
    publicUrl: null,
    appDomain: null,
    registry: null,
    gitHost: absent('git host'),
  };
}

/** The OpenAPI document of this version, as `/openapi.json` returns it without a configured public URL. */
export async function openApiDocument(): Promise<object> {
  const app = buildApp(declaringDeps());
  try {
    await app.ready();
    return app.swagger();
  } finally {
    await app.close();
  }
}

if (import.meta.main) {
  if (process.argv.includes('--help'))
    console.log('usage: node scripts/openapi-document.ts\nPrints the OpenAPI document of the API.');
  else console.log(JSON.stringify(await openApiDocument(), null, 2));
}

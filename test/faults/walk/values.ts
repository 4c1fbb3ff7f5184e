import type { Secret } from '../../../src/domain/deployment/deployment.ts';

/** What revisions of a walk are made of. */

export const IMAGES = [
  'registry.test/app:1',
  'registry.test/app:2',
  'registry.test/app:1.0.3',
  'registry.test/other',
];
export const PINNED = `registry.test/app@sha256:${'ab'.repeat(32)}`;
export const FAILING_IMAGES = ['registry.test/app:fail-crash-loop', 'registry.test/app:fail-invalid-image'];

export const SECRETS: readonly Secret[] = [
  { name: 'GREETING', value: 'hello' },
  { name: 'GREETING', value: '' },
  { name: 'TOKEN', value: 'a $(PORT) b $$ c' },
  { name: 'OTEL_SERVICE_NAME', value: 'mine' },
  { name: 'OTEL_EXPORTER_OTLP_ENDPOINT', value: 'http://otel.example:4318' },
  { name: 'DATABASE_URI_CUSTOM', value: 'postgres://u:p@db.example:5432/app' },
  { name: 'CACHE_URI_CUSTOM', value: 'redis://cache.example:6379' },
  { name: 'lower.dotted-name', value: 'línea\nzwei' },
];

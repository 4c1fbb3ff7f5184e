/** A server that answers like the API when a folder is deployed. */
import { type Call, type FakeAnswer, fakeApi } from '../fake-api.ts';
import { folderWith } from './folders.ts';

export const ID = '0196f0a0-5c1e-7b3a-9d51-000000000001';
export const MINE = '0196f0a0-5c1e-7b3a-9d51-000000000002';
export const OLD = '0196f0a0-5c1e-7b3a-9d51-000000000003';
export const ONE = `/v2/deployments/${ID}`;
export const UPLOAD = `POST ${ONE}/sources`;

export const deployment = (more: object = {}) => ({
  id: ID,
  name: 'shop',
  source: 'internal_image',
  status: 'READY',
  remote_reconciled: true,
  latest_revision_id: MINE,
  active_revision_id: MINE,
  source_config: {},
  source_revision_config: {},
  effective_resource_spec: { max_scale: 1 },
  secrets: [],
  url: null,
  generation: 1,
  observed_generation: 1,
  created_at: '2026-01-15T09:30:00.000Z',
  updated_at: '2026-01-15T09:30:00.000Z',
  conditions: [{ type: 'Ready', status: 'True', reason: 'Ready', message: '' }],
  ...more,
});
export const revision = (more: object = {}) => ({ id: MINE, number: 3, status: 'AWAITING_BUILD', ...more });
export const old = () => deployment({ latest_revision_id: OLD, active_revision_id: OLD });
export const list = (...resources: object[]): FakeAnswer => [200, { resources, offset: resources.length }];
export const LOG = [
  { time: '2026-01-15T09:30:00.000Z', step: 'source', attempt: 1, text: 'unpacked 2 files' },
  { time: '2026-01-15T09:30:01.000Z', step: 'image', attempt: 1, text: 'pushed\u001b[2J' },
  { end: 'The log of the build is complete.', reason: 'complete' },
];
export const lines = (objects: readonly object[]) =>
  Buffer.from(objects.map((line) => `${JSON.stringify(line)}\n`).join(''));

/** @param answers by the line of the call. Default: an API in which everything succeeds */
export function api(answers: Readonly<Record<string, (call: Call) => FakeAnswer>> = {}) {
  const all: Record<string, (call: Call) => FakeAnswer> = {
    'GET /v2/deployments': () => list(old()),
    'POST /v2/deployments': () => [201, deployment({ latest_revision_id: null, active_revision_id: null })],
    [UPLOAD]: () => [201, revision()],
    [`GET ${ONE}`]: () => [200, deployment()],
    [`GET ${ONE}/revisions/${MINE}`]: () => [200, revision({ status: 'DEPLOYED' })],
    [`GET ${ONE}/revisions/${MINE}/build-logs`]: () => [200, lines(LOG)],
    ...answers,
  };
  return fakeApi((call) => all[call.line]?.(call));
}

export const app = () =>
  folderWith({ 'server.js': 'listen()', 'x/y': '', '.env': 'A=1', '.gitignore': 'z\n' });
export const uploads = (calls: readonly Call[]) => calls.filter(({ line }) => line === UPLOAD);

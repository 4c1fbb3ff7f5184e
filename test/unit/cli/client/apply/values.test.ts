import { expect, test } from 'vitest';
import type { DeploymentDocument, FileSecret } from '../../../../../src/cli/client/apply/documents.ts';
import { problemLine } from '../../../../../src/cli/client/apply/documents.ts';
import { secretValues } from '../../../../../src/cli/client/apply/values.ts';
import { NotText } from '../../../../../src/cli/client/body-file.ts';

const documentOf = (
  secrets: readonly FileSecret[] | null,
  file = '/repo/deploy/shop.yaml',
): DeploymentDocument => ({
  place: { file, number: 1 },
  name: 'shop',
  fields: { source: 'external_image', source_config: {}, source_revision_config: {} },
  secrets,
  tags: null,
});

const FILES: Readonly<Record<string, string>> = { '/repo/deploy/keys/tls.key': 'canary\nline\n' };
const sources = {
  variable: async (name: string) => ({ SHOP_TOKEN: 'canary-token', EMPTY: '' })[name],
  readFile: async (path: string) => {
    if (path.endsWith('.der')) throw new NotText();
    const text = FILES[path];
    if (text === undefined) throw Object.assign(new Error('missing'), { code: 'ENOENT' });
    return text;
  },
};

test('takes values from the document, the environment and files next to the document', async () => {
  const document = documentOf([
    { name: 'A', value: 'x\n' },
    { name: 'B', valueFrom: { env: 'SHOP_TOKEN' } },
    { name: 'C', valueFrom: { file: 'keys/tls.key' } },
    { name: 'D', valueFrom: { env: 'EMPTY' } },
  ]);
  expect(await secretValues(document, sources)).toEqual({
    secrets: [
      { name: 'A', value: 'x\n' },
      { name: 'B', value: 'canary-token' },
      { name: 'C', value: 'canary\nline' },
      { name: 'D', value: '' },
    ],
    problems: [],
  });
});

test('reports variables that are not set and files that cannot be read, with their field', async () => {
  const document = documentOf([
    { name: 'A', valueFrom: { env: 'MISSING' } },
    { name: 'B', valueFrom: { file: 'missing.txt' } },
    { name: 'C', valueFrom: { file: 'key.der' } },
  ]);
  const { problems } = await secretValues(document, sources);
  expect(problems.map(problemLine)).toEqual([
    '/repo/deploy/shop.yaml: document 1 (shop): secrets[0].value_from: the variable MISSING is not set',
    '/repo/deploy/shop.yaml: document 1 (shop): secrets[1].value_from: failed to read missing.txt (ENOENT)',
    '/repo/deploy/shop.yaml: document 1 (shop): secrets[2].value_from: failed to read key.der: it is not UTF-8 text; encode binary data, for example with base64',
  ]);
});

test('keeps the stored secrets when the document has none, and removes all with an empty list', async () => {
  expect(await secretValues(documentOf(null), sources)).toEqual({ secrets: null, problems: [] });
  expect(await secretValues(documentOf([]), sources)).toEqual({ secrets: [], problems: [] });
});

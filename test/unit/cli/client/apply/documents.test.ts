import { describe, expect, test } from 'vitest';
import { FILES } from '../../../../../src/cli/client/apply/commands.ts';
import { parseDocuments, problemLine, repeatedNames } from '../../../../../src/cli/client/apply/documents.ts';

const SHOP = `name: shop
source: external_image
source_config: {resource_spec: {cpu: 0.5}}
source_revision_config: {image_uri: "registry.example/shop/web:1.0.0"}
`;

const problemsOf = (text: string) => parseDocuments('a.yaml', text).problems.map(problemLine);

test('reads several documents of YAML and JSON, and skips empty ones', () => {
  const json = JSON.stringify({
    name: 'web',
    source: 'git_host',
    source_config: {},
    source_revision_config: {},
  });
  const { documents, problems } = parseDocuments(
    'a.yaml',
    `---\n# only a comment\n---\n${SHOP}---\n${json}\n---\n`,
  );
  expect(problems).toEqual([]);
  expect(documents).toEqual([
    {
      place: { file: 'a.yaml', number: 2 },
      name: 'shop',
      fields: {
        source: 'external_image',
        source_config: { resource_spec: { cpu: 0.5 } },
        source_revision_config: { image_uri: 'registry.example/shop/web:1.0.0' },
      },
      secrets: null,
      tags: null,
    },
    expect.objectContaining({ place: { file: 'a.yaml', number: 3 }, name: 'web' }),
  ]);
});

test('reads secrets with values and their sources, and tags with one or several values', () => {
  const { documents } = parseDocuments(
    'a.yaml',
    `${SHOP}secrets:
  - {name: A, value: "1"}
  - {name: B, value_from: {env: SHOP_B}}
  - {name: C, value_from: {file: c.txt}}
tags: {team: payments, stage: [test, live, test]}
`,
  );
  expect(documents[0]).toMatchObject({
    secrets: [
      { name: 'A', value: '1' },
      { name: 'B', valueFrom: { env: 'SHOP_B' } },
      { name: 'C', valueFrom: { file: 'c.txt' } },
    ],
    tags: new Map([
      ['team', ['payments']],
      ['stage', ['test', 'live']],
    ]),
  });
});

test('reads the example of the help', () => {
  const example = FILES.split('\n').filter((line) => line.startsWith('  '));
  expect(example).toContain('  name: shop');
  const { documents, problems } = parseDocuments('a.yaml', example.join('\n'));
  expect(problems).toEqual([]);
  expect(documents).toMatchObject([{ name: 'shop', tags: new Map([['team', ['payments']]]) }]);
});

test('treats names that look equal as equal', () => {
  const named = (name: string) => SHOP.replace('shop', JSON.stringify(name));
  const { documents } = parseDocuments('a.yaml', `${named('cafe\u0301')}---\n${named('caf\u00e9\u00a0')}`);
  expect(repeatedNames(documents).map(problemLine)).toEqual([
    'a.yaml: document 2 (caf\u00e9): name: is also the name of document 1 of a.yaml',
  ]);
});

describe('an invalid document', () => {
  test.each([
    ['- a\n- b\n', 'a.yaml: document 1: must be an object with the fields of a deployment'],
    [SHOP.replace('name: shop\n', ''), 'a.yaml: document 1: name: is required'],
    [
      SHOP.replace('shop', '5'),
      'a.yaml: document 1: name: must be a string; put numbers, true and false in quotes',
    ],
    [SHOP.replace('shop', '".."'), 'a.yaml: document 1 (..): name: must not be empty, . or ..'],
    [SHOP.replace('source: external_image\n', ''), 'a.yaml: document 1 (shop): source: is required'],
    [
      SHOP.replace(/source_config: .*\n/, 'source_config: []\n'),
      'a.yaml: document 1 (shop): source_config: must be an object',
    ],
    [
      `${SHOP}replicas: 2\n`,
      'a.yaml: document 1 (shop): replicas: is not a known field: the fields are name, source, source_config, source_revision_config, secrets, secret_references, tags',
    ],
    [`${SHOP}secrets: {A: b}\n`, 'a.yaml: document 1 (shop): secrets: must be a list'],
    [
      `${SHOP}secrets: [{name: A, value: 1}]\n`,
      'a.yaml: document 1 (shop): secrets[0].value: must be a string; put numbers, true and false in quotes',
    ],
    [
      `${SHOP}secrets: [{name: A}]\n`,
      'a.yaml: document 1 (shop): secrets[0]: must have either value or value_from',
    ],
    [
      `${SHOP}secrets: [{name: A, value: x, value_from: {env: B}}]\n`,
      'a.yaml: document 1 (shop): secrets[0]: must have either value or value_from',
    ],
    [
      `${SHOP}secrets: [{name: A, value_from: {vault: B}}]\n`,
      'a.yaml: document 1 (shop): secrets[0].value_from: must be {env: NAME} or {file: PATH}',
    ],
    [`${SHOP}tags: [a]\n`, 'a.yaml: document 1 (shop): tags: must be an object such as {team: payments}'],
    [
      `${SHOP}tags: {team: 5}\n`,
      'a.yaml: document 1 (shop): tags.team: must be a string or a list of strings; put numbers in quotes',
    ],
  ])('is reported with its place and field: %j', (text, line) => expect(problemsOf(text)).toEqual([line]));

  test('is reported with every problem, next to the problems of other documents', () => {
    expect(problemsOf(`---\n${SHOP}---\nname: web\nsecrets: [5]\n---\ntrue\n`)).toEqual([
      'a.yaml: document 2 (web): source: is required',
      'a.yaml: document 2 (web): source_config: is required',
      'a.yaml: document 2 (web): source_revision_config: is required',
      'a.yaml: document 2 (web): secrets[0]: must be an object with name, and value or value_from',
      'a.yaml: document 3: must be an object with the fields of a deployment',
    ]);
  });

  test.each([
    [
      `${SHOP}---\nsecrets: [canary-5521`,
      /^a\.yaml: document 2: neither JSON nor YAML \([A-Z_]+\) in line \d+$/,
    ],
    [
      `${SHOP}name: canary-5521\n`,
      /^a\.yaml: document 1: neither JSON nor YAML \(DUPLICATE_KEY\) in line 5$/,
    ],
    [`a: &x canary-5521\nb: *x\n`, /^a\.yaml: document 1: aliases \(\*name\) are not supported/],
  ])('is not quoted, because it may contain secrets: %j', (text, line) => {
    const lines = problemsOf(text);
    expect(lines[0]).toMatch(line);
    expect(lines.join()).not.toContain('canary');
  });
});

test('rejects tags of YAML with the line, and never quotes their values', () => {
  expect(problemsOf(`${SHOP}secrets:\n  - {name: A, value: !vault canary}\n`)).toEqual([
    'a.yaml: document 1: tags (!name) are not supported in line 6',
  ]);
});

import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { yamlLines } from '../../../../../src/hub/api/objects/yaml-lines.ts';

const toYaml = (value: unknown, mask: (text: string) => string = (text) => text) =>
  `${[...yamlLines(value, mask)].join('\n')}\n`;

/** What the versions of YAML read, in which the same text can have different types. */
const read = (text: string) =>
  (['1.1', '1.2'] as const).map((version) => parse(text, { version, maxAliasCount: 0 }) as unknown);

const TEXTS = [
  ...[
    '',
    ' ',
    'a',
    'a ',
    ' a',
    'a: b',
    'a:',
    'a:b',
    'a #b',
    'a#b',
    '#a',
    '- a',
    '-',
    '?',
    '? a',
    '---',
    '--- a\n...\n',
  ],
  ...[
    '*a',
    '&a',
    '!a',
    '!!str a',
    '%a',
    '@a',
    '`a',
    '[a',
    '{a',
    ']',
    ',a',
    "'a",
    '"a',
    "it's",
    'a "b"',
    '|',
    '>',
    '\\',
    'a\\n',
  ],
  ...['yes', 'Y', 'n', 'NO', 'on', 'Off', 'true', 'null', 'Null', '~', '<<', '=', '.nan', '.inf', '-.INF'],
  ...[
    '1',
    '012',
    '08',
    '1_000',
    '0o7',
    '0o_7',
    '0O7',
    '0b1',
    '0B1',
    '0xF',
    '0X1F',
    '+1',
    '-0o7',
    '1e3',
    '.5',
    '190:20:30',
  ],
  ...[
    '2026-11-30',
    '2026-11-30T15:24:12Z',
    '2001-12-14 21:59:43.10 -5',
    '10.0.0.1',
    '1.2.3',
    '/var/run',
    '$(HOME)',
  ],
  ...[
    'one\ntwo',
    'one\ntwo\n',
    'one\ntwo\n\n\n',
    '\none',
    ' one\ntwo',
    'one\n  two\n\n\tthree\n',
    'one\n  ',
    'one\n   \ntwo',
  ],
  ...[
    '\n',
    '\n\n',
    'a\r\nb',
    'a\tb',
    '\ta',
    '\u0000',
    '\u0007',
    '\u001b[31m',
    '\u007f',
    'a\u0085b',
    'a \u2028 b',
    '\ufeffa',
  ],
  ...[
    '<script>alert(1)</script>',
    '\u202eabc 🚢',
    'größe',
    '日本語',
    '🚢',
    `${'x '.repeat(5_000)}`,
    'x'.repeat(5_000),
    '\uffff',
  ],
];

const named = TEXTS.map((text) => ({ title: JSON.stringify(text).slice(0, 40), text }));

test.each(named)('writes a text that every version of YAML reads as the same text: $title', ({ text }) => {
  const value = {
    [text]: text,
    map: { key: text, [text]: { [text]: [text, { [text]: text }] } },
    list: [text, [text, [text]], { a: text, b: text }, {}, []],
    last: text,
  };
  expect(read(toYaml(value))).toEqual([value, value]);
});

test.each([
  null,
  true,
  0,
  -1.5,
  1e21,
  1e-7,
  'a',
  {},
  [],
  { a: {} },
  { a: [] },
  [[]],
  [{}],
  { a: null },
  { a: [null] },
])('writes %j', (value) => {
  expect(read(toYaml(value))).toEqual([value, value]);
});

test('writes a manifest as people write it', () => {
  const manifest = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'shop-1', labels: { 'app.kubernetes.io/name': 'shop', on: 'yes' }, annotations: {} },
    spec: {
      containers: [
        { name: 'app', command: ['sh', '-c'], args: ['echo a\necho b\n'], ports: [{ containerPort: 80 }] },
        { name: 'side', image: 'registry.example:5000/side:1.2' },
      ],
    },
  };
  expect(toYaml(manifest)).toBe(`apiVersion: v1
kind: Pod
metadata:
  name: shop-1
  labels:
    app.kubernetes.io/name: shop
    "on": "yes"
  annotations: {}
spec:
  containers:
    - name: app
      command:
        - sh
        - "-c"
      args:
        - |
          echo a
          echo b
      ports:
        - containerPort: 80
    - name: side
      image: registry.example:5000/side:1.2
`);
});

test('masks every text, and keeps keys and other values', () => {
  const manifest = {
    hunter22: { env: [{ name: 'A', value: 'hunter22' }], replicas: 1 },
    list: ['x hunter22'],
  };
  expect(parse(toYaml(manifest, (text) => text.replaceAll('hunter22', '***')))).toEqual({
    hunter22: { env: [{ name: 'A', value: '***' }], replicas: 1 },
    list: ['x ***'],
  });
});

test('writes a half of a character as the sign for an unknown character', () => {
  expect(parse(toYaml({ a: 'x\ud83d' }))).toEqual({ a: 'x\ufffd' });
});

test('writes a text with many empty lines in the middle in one pass', () => {
  const text = `a${'\n'.repeat(120_000)}b\n`;
  expect(parse(toYaml({ a: text }))).toEqual({ a: text });
});

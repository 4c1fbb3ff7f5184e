import { expect, test } from 'vitest';
import { mostCommon, type RecordedRequest, toScript, valuesFor } from '../../bench/api/floor-script.ts';
import { type CpuProfile, topCosts } from '../../bench/cpu-profile.ts';

const uuid = (end: number) => `01890000-0000-7000-8000-${String(end).padStart(12, '0')}`;
const TENANT = uuid(1);

const insert = (name: string, id: number): RecordedRequest => ({
  name,
  pathId: null,
  statements: [
    { text: 'BEGIN', values: null, named: false },
    {
      text: 'INSERT',
      values: [TENANT, uuid(id), uuid(id), `app-${name}-x`, Buffer.from(`sealed ${id}`), null],
      named: true,
    },
    { text: 'SELECT', values: [uuid(id)], named: true },
  ],
});

test('a script keeps what two requests share, and makes name and ids anew, the same id wherever it stands', () => {
  const script = toScript(insert('one', 2), insert('two', 3));
  const ids = new Map<number, string>();
  let next = 10;
  const values = script.map((statement) =>
    valuesFor(statement, { name: 'three', pathId: null }, ids, () => uuid(next++)),
  );
  expect(script.map(({ text, named }) => [text, named])).toEqual([
    ['BEGIN', false],
    ['INSERT', true],
    ['SELECT', true],
  ]);
  expect(values).toEqual([
    [],
    [TENANT, uuid(10), uuid(10), 'app-three-x', Buffer.from('sealed 2'), null],
    [uuid(10)],
  ]);
});

test('the id of the path is put where it was', () => {
  const read = (id: number): RecordedRequest => ({
    name: null,
    pathId: uuid(id),
    statements: [{ text: 'SELECT', values: [TENANT, uuid(id)], named: true }],
  });
  const [statement] = toScript(read(2), read(3));
  if (statement === undefined) throw new Error('there is no statement');
  const request = { name: null, pathId: uuid(9) };
  expect(valuesFor(statement, request, new Map(), () => uuid(0))).toEqual([TENANT, uuid(9)]);
});

test('a value that differs for no known reason, or other statements, make no floor', () => {
  const at = (value: string): RecordedRequest => ({
    name: 'n',
    pathId: null,
    statements: [{ text: 'SELECT now', values: [value], named: true }],
  });
  expect(() => toScript(at('12:00'), at('12:01'))).toThrow('nothing explains a value of SELECT now');
  expect(() => toScript(at('x'), insert('one', 2))).toThrow('different statements');
});

test('requests between which the server did something else are left out', () => {
  const disturbed = { ...insert('c', 4), statements: [...insert('c', 4).statements].reverse() };
  const requests = [insert('a', 2), disturbed, insert('b', 3)];
  expect(mostCommon(requests).map(({ name }) => name)).toEqual(['a', 'b']);
  expect(mostCommon([])).toEqual([]);
});

test('a profile tells what ran, by function and by package or file, without what was idle', () => {
  const node = (id: number, functionName: string, url: string) => ({
    id,
    callFrame: { functionName, url, lineNumber: 4 },
  });
  const profile: CpuProfile = {
    nodes: [
      node(1, '(idle)', ''),
      node(2, 'send', 'file:///x/node_modules/fastify/lib/reply.js'),
      node(3, 'decide', 'file:///x/src/api/create.ts'),
    ],
    samples: [1, 2, 3, 3],
    timeDeltas: [100, 10, 20, 10],
  };
  const { functions, places } = topCosts(profile);
  expect(functions).toEqual([
    { name: 'decide src/api/create.ts:5', share: 0.75 },
    { name: 'send fastify:5', share: 0.25 },
  ]);
  expect(places.map(({ name }) => name)).toEqual(['src/api/create.ts', 'fastify']);
});

/** What the benches of reads ask for, and what Berth remembers of it. */
import { expect, test } from 'vitest';
import {
  createBodySchema,
  toSourceConfig,
  toSourceRevisionConfig,
} from '../../../src/domain/deployment/deployment-bodies.ts';
import { polledRecord } from '../../../src/hub/store/deployments/deployment-find.ts';
import type { DeploymentTexts } from '../../../src/hub/store/deployments/deployment-row.ts';
import { DEPLOYMENT } from '../../bench/api/bodies.ts';
import { toScript, valuesFor } from '../../bench/api/floor-script.ts';
import { READ as GET } from '../../bench/api/get.bench.ts';
import { READ as GET_ONCE, bench as getOnce } from '../../bench/api/get-once.bench.ts';
import { READ as LIST_ONCE, bench as listOnce } from '../../bench/api/list-once.bench.ts';
import { checkRows, firstPages, PAGE_ROWS } from '../../bench/api/read-bench.ts';

const { source_config: body, source_revision_config: revision } = createBodySchema.parse({
  ...DEPLOYMENT,
  name: 'pattern',
});
const config = toSourceConfig(body);

/** As a seeded deployment has it, without the blanks of PostgreSQL: no longer than what is parsed. */
function seeded(name: string): DeploymentTexts {
  const annotations = { ...config.resource_spec?.annotations, 'example.com/name': name };
  return {
    id: name,
    source_config: JSON.stringify({ ...config, resource_spec: { ...config.resource_spec, annotations } }),
    source_revision_config: JSON.stringify(toSourceRevisionConfig(revision)),
    conditions: '[]',
    former_sizes: '[]',
  } as DeploymentTexts;
}

/** How many of the configurations that are read in turn are remembered from the second turn to the third. */
function rememberedOf(count: number): number {
  const turn = () =>
    Array.from({ length: count }, (_, index) => polledRecord(seeded(`${count}-${index}`)).sourceConfig);
  turn();
  const before = turn();
  return turn().filter((value, index) => value === before[index]).length;
}

test('what clients poll is remembered; what the benches with -once read in turn is not, none of it', () => {
  expect(rememberedOf(PAGE_ROWS)).toBe(PAGE_ROWS);
  expect(rememberedOf(GET)).toBe(GET);
  expect(rememberedOf(GET_ONCE)).toBe(0);
  expect(rememberedOf(LIST_ONCE)).toBe(0);
});

test('a bench with -once is judged only where there is as much as it says', () => {
  expect(getOnce.goalsFrom).toBe(GET_ONCE);
  expect(listOnce.goalsFrom).toBeGreaterThanOrEqual(LIST_ONCE);
});

test('pages come one after the other, no more than there are; the floor has the same offset in its path', () => {
  expect(firstPages(80, 8)).toHaveLength(1);
  expect(firstPages(80, 100_000)).toHaveLength(80);
  expect(firstPages(2, 100_000)).toEqual([
    { path: '/v2/deployments?limit=100', floorPath: '/v2/deployments/after/0?limit=100', id: '0' },
    {
      path: '/v2/deployments?limit=100&offset=100',
      floorPath: '/v2/deployments/after/100?limit=100',
      id: '100',
    },
  ]);
});

test('the floor of a page plays its offset, taken from its path', () => {
  const [, second, third] = firstPages(3, 1000).map(({ id }) => ({
    name: null,
    pathId: id,
    statements: [{ text: 'SELECT', values: ['tenant', id], named: true }],
  }));
  if (second === undefined || third === undefined) throw new Error('there are too few pages');
  const [statement] = toScript(second, third);
  if (statement === undefined) throw new Error('there is no statement');
  const values = valuesFor(statement, { name: null, pathId: '700' }, new Map(), () => 'new');
  expect(values).toEqual(['tenant', '700']);
});

test('a floor that answers other rows than Berth is none', () => {
  const page = (...ids: string[]) => ({ resources: ids.map((id) => ({ id })) });
  expect(() => checkRows(page('a', 'b'), page('a', 'b'))).not.toThrow();
  expect(() => checkRows({ id: 'a' }, { id: 'a' })).not.toThrow();
  expect(() => checkRows(page('a', 'b'), page('a', 'c'))).toThrow('it reads other rows');
  expect(() => checkRows(page('a'), page('a', 'b'))).toThrow('it reads other rows');
  expect(() => checkRows({ id: 'a' }, { id: 'b' })).toThrow('it reads other rows');
});

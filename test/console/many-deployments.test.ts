import { expect, test } from 'vitest';
import type { Deployment } from '../../src/console/api/types.ts';
import { describeConsole } from './harness/console.ts';

const COUNT = 5_000;
/** More rows than the page asks for, so that a test with 5,000 rows needs few requests. */
const ROWS_PER_ANSWER = 1_000;
const FIRST = Date.parse('2026-01-15T09:30:00Z');

/** What the list shows of a deployment. */
type Row = Pick<
  Deployment,
  | 'id'
  | 'name'
  | 'status'
  | 'conditions'
  | 'source'
  | 'image_version'
  | 'active_revision_id'
  | 'latest_revision_id'
  | 'created_at'
> & { readonly source_config: object };

const rowOf = (number: number): Row => ({
  id: `0196f0a0-5c1e-7b3a-9d51-${String(number).padStart(12, '0')}`,
  name: `row-${number}`,
  status: 'READY',
  conditions: [],
  source: 'external_image',
  source_config: {},
  image_version: '1.0.0',
  active_revision_id: null,
  latest_revision_id: null,
  created_at: new Date(FIRST - number * 1_000).toISOString(),
});

describeConsole('many deployments', (world) => {
  test('a list of 5,000 deployments scrolls to its end, with few rows in the document', async () => {
    const page = await world.open();
    // No changes: each would request the rows again.
    await page.route(/\/v2\/watch/, () => undefined);
    await page.route(/\/v2\/deployments\?/, (route, request) => {
      const offset = Number(new URL(request.url()).searchParams.get('offset') ?? 0);
      const count = Math.min(ROWS_PER_ANSWER, COUNT - offset);
      const resources = Array.from({ length: count }, (_, index) => rowOf(offset + index + 1));
      return route.fulfill({ json: { resources, offset: offset + count } });
    });
    await page.goto(`${world.stack.url}/console${world.pathOf('/deployments')}`);
    await page.getByRole('link', { name: 'row-1', exact: true }).waitFor();
    const atEnd = async () => {
      await page.evaluate('scrollTo(0, document.documentElement.scrollHeight)');
      return page.getByRole('link', { name: `row-${COUNT}`, exact: true }).count();
    };
    await expect.poll(atEnd, { timeout: 30_000, interval: 100 }).toBe(1);
    const table = page.getByRole('table', { name: 'Deployments' });
    await expect.poll(() => table.getAttribute('aria-rowcount')).toBe(String(COUNT + 1));
    expect(await page.getByRole('row').count()).toBeLessThan(60);
    await page.evaluate('scrollTo(0, document.documentElement.scrollHeight / 2)');
    await page.getByRole('link', { name: `row-${COUNT / 2}`, exact: true }).waitFor();
  });
});

import { expect, test } from 'vitest';
import { smallDeployment } from '../integration/harness/samples.ts';
import { describeConsole } from './harness/console.ts';

const COUNT = 5_000;
const uuid = (number: number) => `0196f0a0-5c1e-7b3a-9d51-${String(number).padStart(12, '0')}`;

describeConsole('many deployments', (world) => {
  test('a list of 5,000 deployments scrolls to its end, with few rows in the document', async () => {
    const { id } = await world.api.create(smallDeployment('template-shop'));
    const { body: template } = await world.api.call<object>('GET', `/v2/deployments/${id}`);
    await world.api.call('DELETE', `/v2/deployments/${id}`);
    const rowOf = (number: number) => ({
      ...template,
      id: uuid(number),
      name: `row-${number}`,
      created_at: new Date(Date.parse('2026-01-15T09:30:00Z') - number * 1_000).toISOString(),
    });
    const page = await world.open();
    await page.route(/\/v2\/deployments\?/, (route, request) => {
      const query = new URL(request.url()).searchParams;
      const [limit, offset] = [Number(query.get('limit')), Number(query.get('offset') ?? 0)];
      const count = Math.max(0, Math.min(limit, COUNT - offset));
      const resources = Array.from({ length: count }, (_, index) => rowOf(offset + index + 1));
      return route.fulfill({ json: { resources, offset: offset + count } });
    });
    await page.goto(`${world.stack.url}/console${world.pathOf('/deployments')}`);
    await page.getByRole('link', { name: 'row-1', exact: true }).waitFor();
    const atEnd = async () => {
      await page.evaluate('scrollTo(0, document.documentElement.scrollHeight)');
      return page.getByRole('link', { name: `row-${COUNT}`, exact: true }).count();
    };
    await expect.poll(atEnd, { timeout: 30_000, interval: 20 }).toBe(1);
    const table = page.getByRole('table', { name: 'Deployments' });
    expect(await table.getAttribute('aria-rowcount')).toBe(String(COUNT + 1));
    expect(await page.getByRole('row').count()).toBeLessThan(60);
    await page.evaluate('scrollTo(0, document.documentElement.scrollHeight / 2)');
    await page.getByRole('link', { name: `row-${COUNT / 2}`, exact: true }).waitFor();
  });
});

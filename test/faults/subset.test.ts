/** The plans that npm test runs. `npm run faults` runs all plans. */
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { type LocalPostgres, startPostgres } from '../cluster/postgres.ts';
import { allPlans } from './plans.ts';
import { Runner } from './runner.ts';

const plans = allPlans().filter(({ inSubset }) => inSubset === true);

let postgres: LocalPostgres;
let runner: Runner;
beforeAll(async () => {
  const environment = inject('environment');
  // The PostgreSQL of the test run, which `stop` does not end.
  postgres = await startPostgres({ databaseUrl: environment.databaseUrl });
  runner = new Runner({ access: environment, postgres });
});
afterAll(async () => {
  await runner?.stop();
  await postgres?.stop();
});

describe.concurrent('has the same final state with the fault as without it', () => {
  it.each(plans.map((plan) => [plan.name, plan] as const))('%s', async (_name, plan) => {
    const { violations } = await runner.run(plan);
    expect(violations).toEqual([]);
  });
});

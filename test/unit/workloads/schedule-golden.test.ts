import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { schedulesSpec } from '../../../src/contract/render/schedules.ts';
import { deploymentTaskSpecSchema } from '../../../src/contract/resource/deployment-task.ts';
import type { Schedule } from '../../../src/domain/schedules/schedules.ts';
import { renderTemplates } from '../../../src/workloads/objects/pod-template.ts';
import { cronJob } from '../../../src/workloads/schedules/cron-job.ts';
import { taskJob } from '../../../src/workloads/tasks/task-job.ts';
import { GOLDEN_CASES } from './golden-cases.ts';
import { yaml } from './golden-text.ts';
import { resourceOf } from './render-request.ts';

/** The CronJobs of schedules. Rewrite with `npm run golden`, then read the difference. */

const folder = fileURLToPath(new URL('../../golden/schedules/', import.meta.url));
const NIGHTLY: Schedule = { name: 'nightly', schedule: '30 2 * * *', command: ['./clean', '$HOME'] };

function caseOf(name: string) {
  const golden = GOLDEN_CASES.find((each) => each.name === name);
  if (golden === undefined) throw new Error(`there is no golden case ${name}`);
  const resource = resourceOf(golden.request, golden.config);
  return { resource, templates: renderTemplates(resource, golden.config) };
}

function cronJobOf(name: string, schedule: Partial<Schedule> = {}) {
  const { resource, templates } = caseOf(name);
  const [spec] = schedulesSpec([{ ...NIGHTLY, ...schedule }]).schedules ?? [];
  const template = templates[schedule.component ?? 'api'];
  if (spec === undefined || template === undefined) throw new Error(`${name} has no such component`);
  return cronJob(resource, spec, { number: resource.spec.revision.number, template });
}

describe('the CronJob of a schedule', () => {
  test.each<[string, Partial<Schedule>]>([
    ['minimal', {}],
    [
      'everything',
      {
        time_zone: 'Europe/Berlin',
        timeout_seconds: 60,
        suspend: true,
        concurrency: 'replace',
        component: 'queue',
      },
    ],
    ['cloud', { concurrency: 'allow' }],
  ])('matches the golden file of %s', async (name, schedule) => {
    await expect(yaml(cronJobOf(name, schedule))).toMatchFileSnapshot(`${folder}${name}.yaml`);
  });

  test.each(GOLDEN_CASES.filter(({ name }) => name !== 'no-revision').map(({ name }) => [name]))(
    'of %s runs the same pod as a task, apart from the labels of both',
    (name) => {
      const { resource, templates } = caseOf(name);
      const task = taskJob(
        resource,
        {
          apiVersion: 'berth.dev/v1alpha1',
          kind: 'DeploymentTask',
          metadata: { name: 'a', namespace: 'apps', uid: 'u' },
          spec: deploymentTaskSpecSchema.parse({ deployment: 'demo', command: ['./clean', '$$HOME'] }),
        },
        templates.api ?? {},
      ) as unknown as { spec: { suspend?: boolean; template: { spec: object } } };
      const { jobTemplate } = (cronJobOf(name) as unknown as { spec: { jobTemplate: typeof task } }).spec;
      const { suspend: _, template, ...job } = task.spec;
      expect(jobTemplate.spec).toEqual({
        ...job,
        template: { ...template, metadata: expect.anything() },
      });
    },
  );

  test('is suspended while the deployment is switched off', () => {
    expect(cronJobOf('switched-off').spec).toMatchObject({ suspend: true });
    expect(cronJobOf('minimal').spec).toMatchObject({ suspend: false });
  });
});

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { literalArgument, sentArgument } from '../../../../src/contract/render/literal-argument.ts';
import { schedulesSpec } from '../../../../src/contract/render/schedules.ts';
import { cronJobName } from '../../../../src/contract/resource/names.ts';
import { schedulesSpecSchema } from '../../../../src/contract/resource/schedule-spec.ts';
import { toSourceConfig } from '../../../../src/domain/deployment/deployment-bodies.ts';
import { resolvePolicy } from '../../../../src/domain/policy/policy.ts';
import { scheduleIssues } from '../../../../src/domain/policy/policy-schedules.ts';
import { scheduleComponentIssues } from '../../../../src/domain/schedules/schedule-components.ts';
import {
  mergeSchedules,
  schedulesBodySchema,
  schedulesOf,
} from '../../../../src/domain/schedules/schedules.ts';
import { isTimeZone } from '../../../../src/domain/schedules/time-zone.ts';

const NIGHTLY = { name: 'nightly', schedule: '30 2 * * *', command: ['./clean', '--all'] };
const messages = (value: unknown) =>
  schedulesBodySchema
    .safeParse(value)
    .error?.issues.map(({ path, message }) => `${path.join('.')}: ${message}`) ?? [];

describe('schedules of a request', () => {
  test('are accepted with all fields, and with null for each optional one', () => {
    const all = {
      ...NIGHTLY,
      time_zone: 'Europe/Berlin',
      component: 'queue',
      timeout_seconds: 60,
      suspend: true,
      concurrency: 'replace',
    };
    const nulls = {
      time_zone: null,
      component: null,
      timeout_seconds: null,
      suspend: null,
      concurrency: null,
    };
    expect(messages([all, { ...NIGHTLY, name: 'other', ...nulls }])).toEqual([]);
    expect(schedulesOf({ schedules: [{ ...NIGHTLY, ...nulls }] })).toEqual({ schedules: [NIGHTLY] });
  });

  test.each([
    [{ name: 'Nightly' }, /^0.name: must contain only lower case/],
    [{ name: '-a' }, /^0.name:/],
    [{ name: 'a'.repeat(33) }, /^0.name:/],
    [{ schedule: 'daily' }, /^0.schedule: must have five fields/],
    [{ schedule: null }, /^0.schedule:/],
    [{ time_zone: 'Berlin' }, /^0.time_zone: must be the name of an IANA time zone/],
    [{ time_zone: '+01:00' }, /^0.time_zone:/],
    [{ command: [] }, /^0.command:/],
    [{ command: [''] }, /^0.command: the first item is the program/],
    [
      { command: ['$'.repeat(5000)] },
      /^0.command.0: must not have more than 8192 characters, of which each \$/,
    ],
    [{ component: 'web' }, /^0.component:/],
    [{ timeout_seconds: 0 }, /^0.timeout_seconds:/],
    [{ concurrency: 'Forbid' }, /^0.concurrency:/],
    [{ every: '5m' }, /every/],
  ])('are rejected with the field for %j', (change, message) => {
    expect(messages([{ ...NIGHTLY, ...change }])).toEqual([expect.stringMatching(message)]);
  });

  test('are rejected if two have one name, if there are too many, and if their commands are too large', () => {
    expect(messages([NIGHTLY, NIGHTLY])).toEqual([
      "1.name: must be unique in the list, but 'nightly' occurs twice",
    ]);
    const many = Array.from({ length: 51 }, (_, index) => ({ ...NIGHTLY, name: `n${index}` }));
    expect(messages(many)).toHaveLength(1);
    const large = many.slice(0, 10).map((each) => ({ ...each, command: ['a'.repeat(8000)] }));
    expect(messages(large)).toEqual([expect.stringMatching(/larger than 65536 bytes together/)]);
  });

  test('are replaced by a PATCH, kept if they are absent, and removed by null and by an empty list', () => {
    const stored = { schedules: [NIGHTLY] };
    expect(mergeSchedules(stored, {})).toEqual(stored);
    expect(mergeSchedules(stored, { schedules: null })).toEqual({});
    expect(mergeSchedules(stored, { schedules: [] })).toEqual({});
    const other = { ...NIGHTLY, name: 'other' };
    expect(mergeSchedules(stored, { schedules: [other] })).toEqual({ schedules: [other] });
    expect(toSourceConfig({})).not.toHaveProperty('schedules');
  });

  test('name a component that the deployment does not have', () => {
    const schedules = [NIGHTLY, { ...NIGHTLY, name: 'b', component: 'queue' as const }];
    const config = { schedules, resource_spec: null, deployment_type: null };
    expect(scheduleComponentIssues(config)).toMatchObject([
      { loc: ['source_config', 'schedules', 1, 'component'] },
    ]);
    const resource_spec = { queue_cpu: 1 };
    expect(scheduleComponentIssues({ ...config, resource_spec })).toEqual([]);
  });
});

describe('the policy of schedules', () => {
  const policy = resolvePolicy('cloud', { schedules: { max_schedules: 1 } });
  const configOf = (...schedules: (typeof NIGHTLY)[]) => ({ ...toSourceConfig({}), schedules });

  test('names the schedule that runs too often, and the list that is too long', () => {
    const often = { ...NIGHTLY, name: 'often', schedule: '*/2 * * * *' };
    expect(scheduleIssues({ sourceConfig: configOf(often) }, policy)).toMatchObject([
      { loc: ['source_config', 'schedules', 0, 'schedule'], msg: expect.stringMatching(/every 5 minutes/) },
    ]);
    expect(scheduleIssues({ sourceConfig: configOf(NIGHTLY, often) }, policy)).toMatchObject([
      { loc: ['source_config', 'schedules'], msg: expect.stringMatching(/more than 1 entries/) },
      { loc: ['source_config', 'schedules', 1, 'schedule'] },
    ]);
  });

  test('does not apply to stored schedules', () => {
    const often = { ...NIGHTLY, name: 'often', schedule: '*/2 * * * *' };
    const stored = configOf(NIGHTLY, often);
    expect(scheduleIssues({ sourceConfig: stored, stored }, policy)).toEqual([]);
  });
});

describe('schedules in the custom resource', () => {
  test('have names in camelCase, and commands that run as they were sent', () => {
    const sent = { ...NIGHTLY, time_zone: 'Etc/UTC', timeout_seconds: 5, command: ['echo', '$(HOME) $$'] };
    expect(schedulesSpec([sent]).schedules).toEqual([
      {
        name: 'nightly',
        schedule: '30 2 * * *',
        timeZone: 'Etc/UTC',
        timeoutSeconds: 5,
        command: ['echo', '$$(HOME) $$$$'],
      },
    ]);
    const argument = fc.string({ unit: fc.constantFrom('$', '(', 'A', ')') });
    fc.assert(
      fc.property(argument, (text) => {
        expect(sentArgument(literalArgument(text))).toBe(text);
      }),
    );
    expect(schedulesSpec([])).toEqual({});
    expect(schedulesSpecSchema.safeParse([NIGHTLY, NIGHTLY]).success).toBe(false);
  });
});

test('the name of a CronJob is short, a DNS label, and different for each schedule', () => {
  const label = fc
    .string({ unit: fc.constantFrom(...'ab-1'), minLength: 1, maxLength: 49 })
    .map((text) => `a${text}`.replace(/-+$/, 'b').slice(0, 49));
  fc.assert(
    fc.property(label, label, label, label, (app, schedule, otherApp, otherSchedule) => {
      const name = cronJobName(app, schedule);
      expect(name).toMatch(/^[a-z]([-a-z0-9]*[a-z0-9])?$/);
      expect(name.length).toBeLessThanOrEqual(48);
      const isSame = app === otherApp && schedule === otherSchedule;
      expect(cronJobName(otherApp, otherSchedule) === name).toBe(isSame);
    }),
  );
  expect(cronJobName('a-b', 'c')).not.toBe(cronJobName('a', 'b-c'));
});

test.each([
  ['Europe/Berlin', true],
  ['Etc/UTC', true],
  ['UTC', true],
  ['America/Argentina/Buenos_Aires', true],
  ['America/Port-au-Prince', true],
  ['Etc/GMT+5', true],
  ['europe/berlin', false],
  ['utc', false],
  ['Local', false],
  ['Europe/Nowhere', false],
  ['+01:00', false],
  ['', false],
])('%s is the name of a time zone: %s', (name, expected) => {
  expect(isTimeZone(name)).toBe(expected);
});

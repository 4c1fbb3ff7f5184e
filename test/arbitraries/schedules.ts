/** Random lists of schedules. */
import fc from 'fast-check';
import { CONCURRENCIES, type Schedule, type SchedulesBody } from '../../src/domain/schedules/schedules.ts';

const minutes = fc.oneof(
  fc.constant('*'),
  fc.integer({ min: 1, max: 59 }).map((step) => `*/${step}`),
  fc.integer({ min: 0, max: 59 }).map(String),
);
const expression = fc.oneof(
  fc
    .tuple(minutes, fc.constantFrom('*', '2', '9-17', '0,12'), fc.constantFrom('*', '1', '15-20'))
    .map(([minute, hour, day]) => `${minute} ${hour} ${day} * *`),
  fc.constantFrom('@daily', '0 4 * * mon-fri', '30 2 1 jan,jul ?'),
);

const named = (name: string): fc.Arbitrary<Schedule> =>
  fc.record(
    {
      name: fc.constant(name),
      schedule: expression,
      command: fc.array(
        fc.string({ unit: fc.constantFrom('a', '$', '(', ')', ' '), minLength: 1, maxLength: 8 }),
        {
          minLength: 1,
          maxLength: 3,
        },
      ),
      time_zone: fc.constantFrom('Etc/UTC', 'Europe/Berlin', 'America/Port-au-Prince'),
      component: fc.constant('api' as const),
      timeout_seconds: fc.integer({ min: 1, max: 86_400 }),
      suspend: fc.boolean(),
      concurrency: fc.constantFrom(...CONCURRENCIES),
    },
    { requiredKeys: ['name', 'schedule', 'command'] },
  );

/** Lists as they are stored. */
export const schedules = (): fc.Arbitrary<Schedule[]> =>
  fc
    .uniqueArray(fc.stringMatching(/^[a-z0-9]([-a-z0-9]{0,6}[a-z0-9])?$/), { maxLength: 4 })
    .chain((names) => fc.tuple(...names.map(named)) as unknown as fc.Arbitrary<Schedule[]>);

/** A list as a client sends it. null removes all schedules, and null in a schedule is an unset field. */
export const sentSchedules = (): fc.Arbitrary<NonNullable<SchedulesBody['schedules']> | null> =>
  fc.option(
    schedules().map((list) => list.map((each) => ({ time_zone: null, concurrency: null, ...each }))),
    { nil: null },
  );

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseCron, shortestInterval } from '../../../../src/domain/schedules/cron.ts';

const intervalOf = (expression: string): number => {
  const cron = parseCron(expression);
  if (typeof cron === 'string') throw new Error(cron);
  return shortestInterval(cron);
};

describe('a cron expression', () => {
  test.each([
    ['* * * * *', 1],
    ['*/10 * * * *', 10],
    ['7 * * * *', 60],
    ['30 2 * * *', 1440],
    ['0 9-17 * * mon-fri', 60],
    ['0,50 * * * *', 10],
    ['5/20 3 1 JAN ?', 20],
    ['0 0 29 2 *', 1440],
    ['59 23 * * *', 1440],
    ['0 0 31 2 mon', 1440],
    ['@hourly', 60],
    ['@daily', 1440],
    ['*/7 * * * *', 4],
  ])('accepts %s, whose runs are at least %d minutes apart', (expression, minutes) => {
    expect(intervalOf(expression)).toBe(minutes);
  });

  test.each([
    ['', /five fields/],
    ['* * * *', /five fields/],
    ['* * * * * *', /five fields/],
    [' * * * * *', /five fields/],
    ['60 * * * *', /minute '60' that is not from 0 to 59/],
    ['* 24 * * *', /hour '24'/],
    ['* * 0 * *', /day of month '0' that is not from 1 to 31/],
    ['* * * 13 *', /month '13' that is not from 1 to 12, or from jan to dec/],
    ['* * * * 7', /day of week '7' that is not from 0 to 6, or from sun to sat/],
    ['* * * * fri-mon', /ends before it begins/],
    ['*/0 * * * *', /step of 0/],
    ['-5 * * * *', /is not a number/],
    ['1,,2 * * * *', /is not a number/],
    ['a * * * *', /not from 0 to 59/],
    ['*-5 * * * *', /begins with \*/],
    ['0 0 31 2,4 *', /never due/],
    ['@every 5m', /must not use '@every'/],
    ['@noon', /must be one of @yearly/],
    ['TZ=UTC * * * * *', /use time_zone/],
    ['CRON_TZ=UTC * * * * *', /use time_zone/],
  ])('is rejected with its field if it is %s', (expression, message) => {
    expect(parseCron(expression)).toMatch(message);
  });

  test('has the shortest interval that its times have on two days in a row', () => {
    const minutes = fc.uniqueArray(fc.integer({ min: 0, max: 59 }), { minLength: 1, maxLength: 5 });
    const hours = fc.uniqueArray(fc.integer({ min: 0, max: 23 }), { minLength: 1, maxLength: 5 });
    fc.assert(
      fc.property(minutes, hours, (minute, hour) => {
        const times = Array.from({ length: 2 * 1440 }, (_, at) => at).filter(
          (at) => minute.includes(at % 60) && hour.includes(Math.floor(at / 60) % 24),
        );
        const gaps = times.slice(1).map((time, index) => time - (times[index] ?? 0));
        expect(intervalOf(`${minute.join()} ${hour.join()} * * *`)).toBe(Math.min(...gaps));
      }),
      { numRuns: 50 },
    );
  });

  test('never makes the parser fail, at any text', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...'0159*/-,? @jan') }), (expression) => {
        const parsed = parseCron(expression);
        if (typeof parsed !== 'string') expect(shortestInterval(parsed)).toBeGreaterThan(0);
      }),
    );
  });
});

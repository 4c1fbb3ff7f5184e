import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  isAnsweredByReady,
  MessageReader,
  type PgMessage,
  STARTUP_CODES,
  Statements,
} from '../../../faults/proxies/postgres-framing.ts';

const int32 = (value: number) => {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
};
const text = (value: string) => Buffer.from(`${value}\0`);

function message(type: string, ...parts: Buffer[]): PgMessage {
  const body = Buffer.concat(parts);
  return { type, bytes: Buffer.concat([Buffer.from(type), int32(body.length + 4), body]) };
}

function startup(code: number, ...parts: Buffer[]): PgMessage {
  const body = Buffer.concat([int32(code), ...parts]);
  return { type: 'startup', bytes: Buffer.concat([int32(body.length + 4), body]) };
}

const VERSION_3 = 196608;
const CONVERSATION = [
  startup(STARTUP_CODES.gss),
  startup(STARTUP_CODES.ssl),
  startup(VERSION_3, text('user'), text('berth'), Buffer.from([0])),
  message('p', Buffer.from('SCRAM')),
  message('Q', text('SELECT 1')),
  message('S'),
  message('d', Buffer.alloc(70_000, 7)),
  message('Q', text('grün')),
  message('X'),
];

describe('messages', () => {
  test('are complete for any split into chunks', () => {
    const whole = Buffer.concat(CONVERSATION.map(({ bytes }) => bytes));
    const cuts = fc.array(fc.integer({ min: 0, max: whole.length }), { maxLength: 40 });
    fc.assert(
      fc.property(cuts, (places) => {
        const reader = new MessageReader('client');
        const ends = [...places.sort((a, b) => a - b), whole.length];
        const found = ends.flatMap((end, index) => reader.push(whole.subarray(ends[index - 1] ?? 0, end)));
        expect(found.map(({ type }) => type)).toEqual(CONVERSATION.map(({ type }) => type));
        expect(Buffer.concat(found.map(({ bytes }) => bytes)).equals(whole)).toBe(true);
      }),
      { numRuns: 50 },
    );
  });

  test('of a server have a type from the first message', () => {
    const messages = [message('R', int32(0)), message('Z', Buffer.from('I')), message('A', text('x'))];
    const reader = new MessageReader('server');
    expect(reader.push(Buffer.concat(messages.map(({ bytes }) => bytes)))).toEqual(messages);
  });
});

describe('the text of what is executed', () => {
  const parse = (name: string, sql: string) => message('P', text(name), text(sql), Buffer.alloc(2));
  const bind = (portal: string, statement: string) =>
    message('B', text(portal), text(statement), Buffer.alloc(6));
  const execute = (portal: string) => message('E', text(portal), int32(0));
  const close = (what: 'S' | 'P', name: string) => message('C', text(`${what}${name}`));

  test('is that of a Query, on one line', () => {
    expect(new Statements().executedBy(message('Q', text(' SELECT\n  1 ')))).toBe('SELECT 1');
  });

  test('is that of the statement of the portal, named or not', () => {
    const statements = new Statements();
    const run = (...messages: PgMessage[]) => messages.map((each) => statements.executedBy(each));
    expect(run(parse('', 'INSERT  a'), bind('', ''), execute(''))).toEqual([
      undefined,
      undefined,
      'INSERT a',
    ]);
    run(parse('kept', 'SELECT kept'), bind('p', 'kept'));
    expect(run(parse('', 'SELECT other'), bind('', ''), execute('p'), execute(''))).toEqual([
      undefined,
      undefined,
      'SELECT kept',
      'SELECT other',
    ]);
    // A portal goes on after its statement was closed; a statement after its portal.
    expect(run(close('S', 'kept'), execute('p'))).toEqual([undefined, 'SELECT kept']);
    expect(run(close('P', 'p'), execute('p'))).toEqual([undefined, '']);
  });

  test('is undefined for any other message', () => {
    const others = [message('S'), message('X'), message('d', text('SELECT 1')), startup(VERSION_3)];
    expect(others.map((each) => new Statements().executedBy(each))).toEqual(others.map(() => undefined));
  });
});

test('expects ReadyForQuery after a startup, a Query, a Sync and a FunctionCall', () => {
  const asking = CONVERSATION.filter(isAnsweredByReady).map(({ type }) => type);
  expect(asking).toEqual(['startup', 'Q', 'S', 'Q']);
  expect(isAnsweredByReady(startup(STARTUP_CODES.cancel, int32(1), int32(2)))).toBe(false);
  expect(isAnsweredByReady(message('F', int32(1)))).toBe(true);
});

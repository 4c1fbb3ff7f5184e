import pg from 'pg';
import { describe, expect, test } from 'vitest';
import { DrizzleQueryError } from '../../../../../src/hub/store/core/drizzle.ts';
import {
  NotMigrated,
  ReferenceViolation,
  StoreContention,
  StoreError,
  StoreUnavailable,
  translateError,
  UniqueViolation,
} from '../../../../../src/hub/store/core/errors.ts';

function serverError(code: string, more: Partial<pg.DatabaseError> = {}): pg.DatabaseError {
  return Object.assign(new pg.DatabaseError('said so', 7, 'error'), { code, ...more });
}

describe('translateError', () => {
  test.each([
    ['40001', StoreContention, { retryable: true }],
    ['40P01', StoreContention, { retryable: true }],
    ['23505', UniqueViolation, { retryable: false, constraint: 'c' }],
    ['23503', ReferenceViolation, { retryable: false, constraint: 'c' }],
    ['57014', StoreUnavailable, { retryable: true, connection: 'usable' }],
    ['53300', StoreUnavailable, { retryable: true, connection: 'usable' }],
    ['57P01', StoreUnavailable, { retryable: true, connection: 'lost' }],
    ['08006', StoreUnavailable, { retryable: true, connection: 'lost' }],
    ['25006', StoreUnavailable, { retryable: true, connection: 'lost' }],
    ['28P01', StoreUnavailable, { retryable: true, connection: 'lost' }],
    ['25P03', StoreUnavailable, { retryable: true, connection: 'lost' }],
    ['42P01', NotMigrated, { retryable: false }],
    ['22P02', StoreError, { retryable: false, sqlState: '22P02' }],
  ])('translates the SQLSTATE %s of the server', (code, type, properties) => {
    const error = translateError(serverError(code, { constraint: 'c' }));
    expect(error).toBeInstanceOf(type);
    expect(error).toMatchObject(properties);
  });

  test('drops DETAIL and the parameters of drizzle, which contain values', () => {
    const cause = serverError('23505', { constraint: 'c', detail: 'Key (name)=(canary) already exists.' });
    const error = translateError(new DrizzleQueryError('insert into x values ($1)', ['canary'], cause));
    expect(error).toBeInstanceOf(UniqueViolation);
    expect(JSON.stringify(error, Object.getOwnPropertyNames(error))).not.toContain('canary');
  });
});

test.each([
  [Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:1'), { code: 'ECONNREFUSED' }), 'lost'],
  [new AggregateError([Object.assign(new Error('x'), { code: 'ECONNREFUSED' })], ''), 'lost'],
  [new Error('Connection terminated unexpectedly'), 'lost'],
  [new Error('Query read timeout'), 'stuck'],
  [new Error('timeout exceeded when trying to connect'), 'stuck'],
])('translates an error of the connection to StoreUnavailable: %s', (thrown, connection) => {
  const error = translateError(thrown);
  expect(error).toBeInstanceOf(StoreUnavailable);
  expect(error).toMatchObject({ retryable: true, connection });
});

test('returns any other error unchanged', () => {
  const bug = new TypeError('undefined is not a function');
  expect(translateError(bug)).toBe(bug);
  expect(translateError('text')).toBe('text');
  const own = new UniqueViolation('c');
  expect(translateError(own)).toBe(own);
});

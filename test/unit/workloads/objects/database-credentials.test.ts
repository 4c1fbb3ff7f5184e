import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  bareDatabaseCredentials,
  databaseCredentials,
} from '../../../../src/workloads/objects/database-credentials.ts';
import { minimalRequest, resourceOf, SELF_HOSTED } from '../render-request.ts';

const resource = resourceOf(minimalRequest(), SELF_HOSTED);

test('has the same values in the uri as in the single keys, for any password', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', minLength: 1 }), (password) => {
      const data = databaseCredentials(resource, password)['stringData'] as Record<string, string>;
      const uri = new URL(data['uri'] ?? '');
      expect(decodeURIComponent(uri.password)).toBe(password);
      expect(data).toMatchObject({
        username: uri.username,
        host: uri.hostname,
        port: uri.port,
        database: uri.pathname.slice(1),
        password,
      });
    }),
  );
});

test('returns the same object without data as the bare Secret', () => {
  const { stringData: _, ...rest } = databaseCredentials(resource, 'secret');
  expect(bareDatabaseCredentials(resource)).toEqual(rest);
});

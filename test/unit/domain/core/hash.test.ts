import { describe, expect, it } from 'vitest';
import { canonicalJson, contentHash } from '../../../../src/domain/core/hash.ts';

describe('canonicalJson', () => {
  it('is the same for any order of keys, at every depth', () => {
    const one = { b: [{ y: 1, x: 2 }], a: { d: null, c: 'text' } };
    const other = { a: { c: 'text', d: null }, b: [{ x: 2, y: 1 }] };
    expect(canonicalJson(one)).toBe('{"a":{"c":"text","d":null},"b":[{"x":2,"y":1}]}');
    expect(canonicalJson(other)).toBe(canonicalJson(one));
  });

  it('keeps the order of lists', () => {
    expect(canonicalJson([2, 1])).not.toBe(canonicalJson([1, 2]));
  });

  it('omits undefined members, and writes null for them in a list', () => {
    expect(canonicalJson({ a: undefined, b: [undefined] })).toBe('{"b":[null]}');
  });

  it('writes a date as JSON does, and keeps a key named __proto__', () => {
    expect(canonicalJson({ at: new Date(0) })).toBe('{"at":"1970-01-01T00:00:00.000Z"}');
    expect(canonicalJson(JSON.parse('{"b":1,"__proto__":{"z":1,"a":2}}'))).toBe(
      '{"__proto__":{"a":2,"z":1},"b":1}',
    );
  });

  // Hashes are kept in annotations, in names and in the database: another text would roll every deployment once.
  it('writes numeric keys before the others, as stored hashes require', () => {
    expect(canonicalJson({ b: 1, 10: 1, 9: 1, a: 1 })).toBe('{"9":1,"10":1,"a":1,"b":1}');
    expect(contentHash({ b: [1, { 2: 'x' }], a: null })).toBe('b40b37c28227fd78');
  });
});

import { describe, expect, test } from 'vitest';
import { sharedJson } from '../../../src/store/shared-json.ts';

describe('JSON of columns', () => {
  test('the same text is the same value, and nobody can change it', () => {
    const parse = sharedJson(1000);
    const value = parse('{"a":{"b":[1,{"c":2}]}}') as { a: { b: [number, { c: number }] } };
    expect(value).toEqual({ a: { b: [1, { c: 2 }] } });
    expect(parse('{"a":{"b":[1,{"c":2}]}}')).toBe(value);
    expect(() => {
      value.a.b[1].c = 3;
    }).toThrow(TypeError);
    expect(() => value.a.b.pop()).toThrow(TypeError);
  });

  test.each(['null', 'false', '0', '""', '[]'])('%s is what it is, each time', (text) => {
    const parse = sharedJson(1000);
    expect([parse(text), parse(text)]).toEqual([JSON.parse(text), JSON.parse(text)]);
  });

  test('what was not asked for lately is forgotten; what is asked for stays', () => {
    const parse = sharedJson(100);
    const text = (name: string) => JSON.stringify({ name, filling: 'x'.repeat(20) });
    const [kept, left] = [parse(text('kept')), parse(text('left'))];
    for (let index = 0; index < 20; index += 1) {
      parse(text(`other-${index}`));
      expect(parse(text('kept'))).toBe(kept);
    }
    expect(parse(text('left'))).not.toBe(left);
    expect(parse(text('left'))).toEqual(left);
  });

  test('a long text is parsed each time, and pushes out no other', () => {
    const parse = sharedJson(100);
    const short = parse('{"a":1}');
    const long = JSON.stringify({ a: 'x'.repeat(20_000) });
    expect(parse(long)).not.toBe(parse(long));
    expect(Object.isFrozen(parse(long))).toBe(true);
    expect(parse('{"a":1}')).toBe(short);
  });

  test('a text that is no JSON is an error, each time', () => {
    const parse = sharedJson(100);
    expect(() => parse('{')).toThrow(SyntaxError);
    expect(() => parse('{')).toThrow(SyntaxError);
  });
});

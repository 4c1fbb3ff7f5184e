import { describe, expect, test } from 'vitest';
import { sharedJson } from '../../../src/store/shared-json.ts';

describe('JSON of columns', () => {
  test('a text that comes again is the same value from then on, and nobody can change it', () => {
    const parse = sharedJson(1000);
    const first = parse('{"a":{"b":[1,{"c":2}]}}');
    expect(Object.isFrozen(first)).toBe(false);
    const value = parse('{"a":{"b":[1,{"c":2}]}}') as { a: { b: [number, { c: number }] } };
    expect([first, value]).toEqual(Array.from({ length: 2 }, () => ({ a: { b: [1, { c: 2 }] } })));
    expect(parse('{"a":{"b":[1,{"c":2}]}}')).toBe(value);
    expect(() => {
      value.a.b[1].c = 3;
    }).toThrow(TypeError);
    expect(() => value.a.b.pop()).toThrow(TypeError);
  });

  test.each(['null', 'false', '0', '""', '[]'])('%s is what it is, each time', (text) => {
    const parse = sharedJson(1000);
    for (let time = 0; time < 3; time += 1) expect(parse(text)).toEqual(JSON.parse(text));
  });

  test('what was not asked for lately is forgotten; what is asked for stays', () => {
    const parse = sharedJson(100);
    const text = (name: string) => JSON.stringify({ name, filling: 'x'.repeat(20) });
    const again = (of: string) => [parse(of), parse(of)][1];
    const [kept, left] = [again(text('kept')), again(text('left'))];
    for (let index = 0; index < 20; index += 1) {
      again(text(`other-${index}`));
      expect(parse(text('kept'))).toBe(kept);
    }
    expect(parse(text('left'))).not.toBe(left);
    expect(parse(text('left'))).toEqual(left);
  });

  test('texts that come once push out nothing that is kept, and are forgotten themselves', () => {
    const parse = sharedJson(100);
    parse('{"a":1}');
    const kept = parse('{"a":1}');
    const others = Array.from({ length: 1000 }, (_, index) => JSON.stringify({ other: index }));
    for (const text of [...others, ...others]) expect(Object.isFrozen(parse(text))).toBe(false);
    expect(parse('{"a":1}')).toBe(kept);
  });

  test('a long text is parsed each time, and pushes out no other', () => {
    const parse = sharedJson(100);
    parse('{"a":1}');
    const short = parse('{"a":1}');
    const long = JSON.stringify({ a: 'x'.repeat(20_000) });
    expect(parse(long)).not.toBe(parse(long));
    expect(parse('{"a":1}')).toBe(short);
  });

  test('a text that is no JSON is an error, each time', () => {
    const parse = sharedJson(100);
    expect(() => parse('{')).toThrow(SyntaxError);
    expect(() => parse('{')).toThrow(SyntaxError);
  });
});

import { describe, expect, test } from 'vitest';
import { PolledJson } from '../../../../../src/hub/store/core/polled-json.ts';

const one = (most: number) => {
  const polled = new PolledJson(['config'], most);
  return (id: string, config: string) => polled.parse({ id, config }).config;
};

describe('PolledJson', () => {
  test('returns the same frozen value when the text of a row repeats', () => {
    const parse = one(1000);
    const text = '{"a":{"b":[1,{"c":2}]}}';
    const first = parse('row', text);
    expect(Object.isFrozen(first)).toBe(false);
    const value = parse('row', text) as { a: { b: [number, { c: number }] } };
    expect([first, value]).toEqual(Array.from({ length: 2 }, () => ({ a: { b: [1, { c: 2 }] } })));
    expect(parse('row', text)).toBe(value);
    expect(() => {
      value.a.b[1].c = 3;
    }).toThrow(TypeError);
    expect(() => value.a.b.pop()).toThrow(TypeError);
  });

  test('returns another value at once when the text changes, also when an earlier text returns', () => {
    const parse = one(1000);
    for (let time = 0; time < 3; time += 1) {
      expect(parse('row', '{"a":1}')).toEqual({ a: 1 });
      expect(parse('row', '{"a":2}')).toEqual({ a: 2 });
      expect(parse('row', '{"a":2}')).toEqual({ a: 2 });
    }
  });

  test('keeps separate values for rows with the same text', () => {
    const parse = one(1000);
    const [here, there] = ['here', 'there'].map((id) => [parse(id, '[1]'), parse(id, '[1]')][1]);
    expect(here).toEqual(there);
    expect(here).not.toBe(there);
    expect(parse('here', '[2]')).toEqual([2]);
    expect(parse('there', '[1]')).toBe(there);
  });

  test('parses only the changed column of a row again, and keeps the others', () => {
    const polled = new PolledJson(['config', 'conditions'], 1000);
    const read = (conditions: string) =>
      polled.parse({ id: 'row', name: 'n', config: '{"a":1}', conditions });
    read('[]');
    const before = read('[]');
    const after = read('[1]');
    expect(after).toEqual({ id: 'row', name: 'n', config: { a: 1 }, conditions: [1] });
    expect(after.config).toBe(before.config);
    expect(before.conditions).toEqual([]);
    expect(Object.isFrozen(after.conditions)).toBe(true);
  });

  test.each(['null', 'false', '0', '""', '[]'])('parses %s to the same value each time', (text) => {
    const parse = one(1000);
    for (let time = 0; time < 3; time += 1) expect(parse('row', text)).toEqual(JSON.parse(text));
  });

  test('evicts values that were not read recently, and keeps those that are read', () => {
    const parse = one(100);
    const text = (name: string) => JSON.stringify({ name, filling: 'x'.repeat(20) });
    const again = (of: string) => [parse(of, text(of)), parse(of, text(of))][1];
    const [kept, left] = [again('kept'), again('left')];
    for (let index = 0; index < 20; index += 1) {
      again(`other-${index}`);
      expect(parse('kept', text('kept'))).toBe(kept);
    }
    expect(parse('left', text('left'))).not.toBe(left);
    expect(parse('left', text('left'))).toEqual(left);
  });

  test('evicts no kept value for rows that are read only once, and does not keep these rows', () => {
    const parse = one(100);
    parse('kept', '{"a":1}');
    const kept = parse('kept', '{"a":1}');
    const others = Array.from({ length: 1000 }, (_, index) => `other-${index}`);
    for (const id of [...others, ...others]) expect(Object.isFrozen(parse(id, '{"a":1}'))).toBe(false);
    expect(parse('kept', '{"a":1}')).toBe(kept);
  });

  test('evicts other rows for a row that grows, as for a row that was long from the beginning', () => {
    const parse = one(100);
    const again = (id: string, text: string) => [parse(id, text), parse(id, text)][1];
    const left = again('left', '[]');
    const many = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];
    const grown = (id: string) => again(id, `["${'x'.repeat(40)}"]`);
    for (const id of many) again(id, '[]');
    expect(parse('left', '[]')).toBe(left);
    for (const id of many) grown(id);
    expect(parse('left', '[]')).not.toBe(left);
  });

  test('parses a long text each time, and keeps the other columns of its row', () => {
    const polled = new PolledJson(['config', 'conditions'], 1000);
    const long = JSON.stringify({ a: 'x'.repeat(20_000) });
    const read = (conditions: string) => polled.parse({ id: 'row', config: '{"a":1}', conditions });
    read(long);
    const before = read(long);
    const after = read(long);
    expect(after).toEqual({ id: 'row', config: { a: 1 }, conditions: { a: 'x'.repeat(20_000) } });
    expect(after.config).toBe(before.config);
    expect(after.conditions).not.toBe(before.conditions);
    expect(read('[]')).toEqual({ id: 'row', config: { a: 1 }, conditions: [] });
    expect(read(long).conditions).toEqual(after.conditions);
  });

  test('evicts no other row for a row with a long text', () => {
    const parse = one(100);
    parse('short', '{"a":1}');
    const short = parse('short', '{"a":1}');
    const long = JSON.stringify({ a: 'x'.repeat(20_000) });
    parse('long', long);
    expect(parse('long', long)).not.toBe(parse('long', long));
    expect(parse('short', '{"a":1}')).toBe(short);
  });

  test('throws for invalid JSON each time, and still parses other texts', () => {
    const parse = one(100);
    for (let time = 0; time < 3; time += 1) expect(() => parse('row', '{')).toThrow(SyntaxError);
    expect(parse('row', '{"a":1}')).toEqual({ a: 1 });
    expect(() => parse('row', '{')).toThrow(SyntaxError);
    expect(parse('row', '{"a":1}')).toEqual({ a: 1 });
  });
});

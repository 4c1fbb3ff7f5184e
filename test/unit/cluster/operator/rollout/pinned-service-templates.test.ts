import { expect, test } from 'vitest';
import type { Observed } from '../../../../../src/cluster/operator/observed.ts';
import { pinnedTemplate } from '../../../../../src/cluster/operator/rollout/pinned-service-templates.ts';
import { ANNOTATIONS } from '../../../../../src/contract/resource/names.ts';
import { revised, settled } from '../fixtures.ts';

const NAME = 'web-db';

/** The annotation with the pinned template of the database, and a function that reads it from a given text. */
async function noted() {
  const world = await settled(revised('web:1', 1));
  const live = world.cluster.get(`StatefulSet/shop/${NAME}`);
  if (live === undefined) throw new Error('there is no database');
  const text = live.metadata.annotations?.[ANNOTATIONS.podTemplate] ?? '';
  const read = (note: string) => {
    const metadata = { ...live.metadata, annotations: { [ANNOTATIONS.podTemplate]: note } };
    const children = new Map([[`StatefulSet/${NAME}`, { ...live, metadata }]]);
    return pinnedTemplate({ children } as unknown as Observed, 'StatefulSet', NAME);
  };
  return { text, read, note: JSON.parse(text) };
}

test('reads a pinned template whatever the order of its fields', async () => {
  const { text, read, note } = await noted();
  expect(note.template.spec.containers).toHaveLength(1);
  expect(read(text)).toEqual(note.template);
  const { template, inputs, hash } = note;
  expect(read(JSON.stringify({ template, inputs, hash }, null, 2))).toEqual(template);
});

test.each([
  ['an added field', (text: string) => text.replace('"spec":{', '"spec":{"hostPID":true,')],
  ['a missing part', (text: string) => text.slice(0, -20)],
  ['a different hash', (text: string) => text.replace(/"hash":"./, '"hash":"z')],
  ['an empty text', () => ''],
])('ignores a pinned template with %s', async (_, edited) => {
  const { text, read } = await noted();
  expect(read(edited(text))).toBeUndefined();
});

import { expect, test } from 'vitest';
import type { Observed } from '../../../../../src/cluster/operator/observed.ts';
import { pinnedTemplate } from '../../../../../src/cluster/operator/rollout/pinned-service-templates.ts';
import { ANNOTATIONS } from '../../../../../src/contract/resource/names.ts';
import { revised, settled } from '../fixtures.ts';

const NAME = 'web-db';

/** The note that Berth makes of the database's template, and what a look reads of a text in its place. */
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

test('a kept template is what was noted, in whatever order somebody has put it', async () => {
  const { text, read, note } = await noted();
  expect(note.template.spec.containers).toHaveLength(1);
  expect(read(text)).toEqual(note.template);
  const { template, inputs, hash } = note;
  expect(read(JSON.stringify({ template, inputs, hash }, null, 2))).toEqual(template);
});

test.each([
  ['another field in the template', (text: string) => text.replace('"spec":{', '"spec":{"hostPID":true,')],
  ['a part that is missing', (text: string) => text.slice(0, -20)],
  ['the hash of another one', (text: string) => text.replace(/"hash":"./, '"hash":"z')],
  ['nothing', () => ''],
])('a kept template counts as none with %s', async (_, edited) => {
  const { text, read } = await noted();
  expect(read(edited(text))).toBeUndefined();
});

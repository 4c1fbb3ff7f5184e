/** docs/install.md: what it lists and runs exists in the settings, in the chart and in the image. */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { parse } from 'yaml';
import { CHART } from '../../scripts/manifests.ts';
import { SETTINGS } from '../../src/config/settings.ts';
import { freePorts } from '../cluster/ports.ts';
import { shellBlocks, textOf } from '../docs/pages.ts';
import { VERSION } from '../installation/version.ts';

const PAGE = 'docs/install.md';
const page = textOf(PAGE);
const sectionOf = (title: string) => page.split(`\n## ${title}\n`)[1]?.split(/\n## /)[0] ?? '';

describe('without access to the internet', () => {
  const section = sectionOf('Without access to the internet');
  const [commands = ''] = shellBlocks(section, PAGE).map(({ text }) => text);
  const [, yaml = ''] = /```yaml\n([\s\S]*?)```/.exec(section) ?? [];
  const values = parse(yaml) as { image: { repository: string }; config: Record<string, string> };
  /** The default of each setting that names an image. The image of Berth has none. */
  const defaults = Object.entries(SETTINGS).flatMap(([name, { schema }]) =>
    name.endsWith('_IMAGE') ? [[name, schema.parse(undefined) as string | undefined] as const] : [],
  );
  const images = defaults.flatMap(([name, image]) => (image === undefined ? [] : [[name, image] as const]));

  test('lists each setting that names an image, with its default', () => {
    const rows = [...section.matchAll(/^\| `([^`]+)` \| .*`(BERTH_\w+)` \|$/gm)];
    const listed = rows.map(([, image, setting]) => [setting, image]).sort();
    const expected = defaults.map(([name, image = `berth:${VERSION}`]) => [name, image]);
    expect(listed).toEqual(expected.sort());
    expect(images.length).toBeGreaterThan(4);
  });

  test.each(images)('copies the default of %s to the registry, and names it there', (setting, image) => {
    // The pages name one version of those with several.
    const pattern = image.replace('{version}', '[\\d.]+');
    const [, path = ''] =
      new RegExp(` docker://docker.io/(${pattern.replace('docker.io/', '')}) dir:`).exec(commands) ?? [];
    expect(path, commands).not.toBe('');
    expect(commands).toContain(` docker://REGISTRY/${path}\n`);
    expect(values.config[setting]).toBe(image.replace('docker.io', 'REGISTRY'));
  });

  test('copies each folder that was filled, and the image of Berth without a change of its digest', () => {
    const folders = (pattern: RegExp) => [...commands.matchAll(pattern)].map(([, name]) => name);
    expect(folders(/--all dir:(\w+) /g)).toEqual(folders(/ dir:(\w+)\n/g));
    expect(commands).toContain(
      `--all --preserve-digests oci-archive:berth-image-${VERSION}.oci.tar docker://${values.image.repository}:${VERSION}\n`,
    );
  });

  test('has values that the chart accepts', () => {
    const schema = JSON.parse(readFileSync(join(CHART, 'values.schema.json'), 'utf8'));
    const accepted = Object.keys(schema.properties.config.properties);
    expect(accepted).toEqual(expect.arrayContaining(Object.keys(values.config)));
    for (const [name, value] of Object.entries(values.config))
      expect(SETTINGS[name as keyof typeof SETTINGS].schema.parse(value)).toBe(value);
  });
});

test('has commands that need no checkout, except to build another image', () => {
  const withCheckout = shellBlocks(page, PAGE).filter(({ text }) =>
    /npm ci|npm run|node .*src\/main\.ts|\bmanifests\/|\btest\/|docker build/.test(text),
  );
  expect(withCheckout.map(({ text }) => text.split('\n')[0])).toEqual([
    expect.stringMatching(/^docker build --build-arg NODE_IMAGE=/),
  ]);
});

test('has a first deployment whose program serves HTTP at PORT, and ends at SIGTERM', async () => {
  const [, body = ''] = /-d '(\{"name": "hello"[^']+\})'/.exec(sectionOf('In ten minutes')) ?? [];
  const { image_uri, commands } = JSON.parse(body).source_revision_config;
  expect(image_uri).toBe(`REGISTRY/berth:${VERSION}`);
  const [program, ...args] = commands.api.command;
  expect(program).toBe('node');
  const [port = 0] = await freePorts(1);
  const child = spawn(process.execPath, args, { env: { PORT: `${port}` }, stdio: 'inherit' });
  onTestFinished(() => void child.kill('SIGKILL'));
  const ended = new Promise((resolve) => child.once('close', (...result) => resolve(result)));
  await expect
    .poll(() => fetch(`http://127.0.0.1:${port}/`).then((answer) => answer.text(), String), {
      timeout: 10_000,
    })
    .toBe('hello');
  child.kill('SIGTERM');
  expect(await ended).toEqual([0, null]);
});

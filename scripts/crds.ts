/**
 * Generates crds/ from the zod schemas of the custom resource. Also updates the manifests that contain the definition.
 *
 *   npm run crds [-- --check | --help]
 */
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { stringify } from 'yaml';
import { CRD_FILE, customResourceDefinition } from '../src/contract/crd/crd.ts';
import { writeManifests } from './manifests.ts';

const path = fileURLToPath(new URL(`../${CRD_FILE}`, import.meta.url));

/**
 * One line with the revision of the custom resource and the hash of its spec. A cluster keeps a newer definition, so every
 * change needs a new number. Two branches that both change it conflict in this line.
 */
const revisionFile = new URL('../crds/revision', import.meta.url);

/** The content of crds/revision. `hash` is in hexadecimal digits. */
export interface CrdRevision {
  readonly number: number;
  readonly hash: string;
}

/** The stored revision. */
export function storedRevision(): CrdRevision {
  const [number = '', hash = ''] = readFileSync(revisionFile, 'utf8').trim().split(' ');
  return { number: Number(number), hash };
}

/** The revision of the current schemas. A changed spec increments the number. */
export function revisionOf(spec: object, stored: CrdRevision): CrdRevision {
  const hash = createHash('sha256').update(JSON.stringify(spec)).digest('hex');
  return hash === stored.hash ? stored : { number: stored.number + 1, hash };
}

/** The generated text. It is YAML 1.1, because kubectl parses that version, in which a bare `off` is a boolean. */
export function crdYaml(): string {
  const header =
    '# Generated from src/contract/resource/managed-deployment.ts by `npm run crds`. Do not edit.\n';
  const definition = customResourceDefinition();
  const { number } = revisionOf(definition.spec, storedRevision());
  const annotations = { 'berth.dev/crd-revision': String(number) };
  return (
    header +
    stringify(
      { ...definition, metadata: { ...definition.metadata, annotations } },
      { lineWidth: 0, aliasDuplicateObjects: false, version: '1.1' },
    )
  );
}

/** The stored text of a file. */
export function storedCrdYaml(): string {
  return readFileSync(path, 'utf8');
}

if (import.meta.main) {
  const [argument] = process.argv.slice(2);
  if (argument === '--help') {
    console.log(
      `usage: npm run crds [-- --check]\nWrites ${CRD_FILE}, its number in crds/revision, and the manifests that contain it. With --check, only reports whether it is up to date.`,
    );
  } else if (argument === '--check') {
    const stale = storedCrdYaml() !== crdYaml();
    console.log(stale ? `${CRD_FILE} is stale: run npm run crds` : `${CRD_FILE}: ok`);
    process.exitCode = stale ? 1 : 0;
  } else {
    const { number, hash } = revisionOf(customResourceDefinition().spec, storedRevision());
    writeFileSync(path, crdYaml());
    writeFileSync(revisionFile, `${number} ${hash}\n`);
    console.log(`wrote ${CRD_FILE}`);
    // The manifests contain the definition too.
    for (const file of await writeManifests()) console.log(`wrote ${file}`);
  }
}

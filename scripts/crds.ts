/**
 * Generates crds/ from the zod schemas of the custom resources. Also updates the manifests that contain the definitions.
 *
 *   npm run crds [-- --check | --help]
 */
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { stringify } from 'yaml';
import { CRD_FILE, customResourceDefinition } from '../src/contract/crd/crd.ts';
import { TASK_CRD_FILE, taskDefinition } from '../src/contract/crd/task-crd.ts';
import { writeManifests } from './manifests.ts';

/** A generated definition. */
interface Definition {
  /** Path in the repository. */
  readonly file: string;
  /** Path of the module with its schema. */
  readonly source: string;
  /** Path of the file with its revision. */
  readonly revision: string;
  object(): ReturnType<typeof customResourceDefinition>;
}

/** Every definition. */
export const DEFINITIONS: readonly Definition[] = [
  {
    file: CRD_FILE,
    source: 'src/contract/resource/managed-deployment.ts',
    revision: 'crds/revision',
    object: customResourceDefinition,
  },
  {
    file: TASK_CRD_FILE,
    source: 'src/contract/resource/deployment-task.ts',
    revision: 'crds/revision-tasks',
    object: taskDefinition,
  },
];

const pathOf = (file: string) => fileURLToPath(new URL(`../${file}`, import.meta.url));

/**
 * The content of a file with a revision: one line with the revision of the custom resource and the hash of its spec, in
 * hexadecimal digits. A cluster keeps a newer definition, so every change needs a new number. Two branches that both change
 * it conflict in this line.
 */
export interface CrdRevision {
  readonly number: number;
  readonly hash: string;
}

/** The stored revision. */
export function storedRevision({ revision }: Definition): CrdRevision {
  const [number = '', hash = ''] = readFileSync(pathOf(revision), 'utf8').trim().split(' ');
  return { number: Number(number), hash };
}

/** The revision of the current schemas. A changed spec increments the number. */
export function revisionOf(spec: object, stored: CrdRevision): CrdRevision {
  const hash = createHash('sha256').update(JSON.stringify(spec)).digest('hex');
  return hash === stored.hash ? stored : { number: stored.number + 1, hash };
}

/** The generated text. It is YAML 1.1, because kubectl parses that version, in which a bare `off` is a boolean. */
export function crdYaml(definition: Definition): string {
  const header = `# Generated from ${definition.source} by \`npm run crds\`. Do not edit.\n`;
  const object = definition.object();
  const { number } = revisionOf(object.spec, storedRevision(definition));
  const annotations = { 'berth.dev/crd-revision': String(number) };
  return (
    header +
    stringify(
      { ...object, metadata: { ...object.metadata, annotations } },
      { lineWidth: 0, aliasDuplicateObjects: false, version: '1.1' },
    )
  );
}

/** The stored text of a file. */
export function storedCrdYaml({ file }: Definition): string {
  return readFileSync(pathOf(file), 'utf8');
}

if (import.meta.main) {
  const [argument] = process.argv.slice(2);
  if (argument === '--help') {
    console.log(
      `usage: npm run crds [-- --check]\nWrites ${DEFINITIONS.map(({ file }) => file).join(' and ')}, their numbers in ${DEFINITIONS.map(({ revision }) => revision).join(' and ')}, and the manifests that contain them. With --check, only reports whether they are up to date.`,
    );
  } else if (argument === '--check') {
    for (const definition of DEFINITIONS) {
      const stale = storedCrdYaml(definition) !== crdYaml(definition);
      console.log(stale ? `${definition.file} is stale: run npm run crds` : `${definition.file}: ok`);
      if (stale) process.exitCode = 1;
    }
  } else {
    for (const definition of DEFINITIONS) {
      const { number, hash } = revisionOf(definition.object().spec, storedRevision(definition));
      writeFileSync(pathOf(definition.file), crdYaml(definition));
      writeFileSync(pathOf(definition.revision), `${number} ${hash}\n`);
      console.log(`wrote ${definition.file}`);
    }
    // The manifests contain the definitions too.
    for (const file of await writeManifests()) console.log(`wrote ${file}`);
  }
}

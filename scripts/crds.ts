/**
 * Writes crds/ from the zod schemas of the custom resource.
 *
 *   npm run crds [-- --check | --help]
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { stringify } from 'yaml';
import { CRD_FILE, customResourceDefinition } from '../src/contract/crd.ts';

const path = fileURLToPath(new URL(`../${CRD_FILE}`, import.meta.url));

/** The text of the file as it should be: YAML 1.1, as kubectl reads it (there a bare `off` is a boolean). */
export function crdYaml(): string {
  const header = '# Generated from src/contract/managed-deployment.ts by `npm run crds`. Do not edit.\n';
  return (
    header +
    stringify(customResourceDefinition(), { lineWidth: 0, aliasDuplicateObjects: false, version: '1.1' })
  );
}

/** The text of the file as it is. */
export function storedCrdYaml(): string {
  return readFileSync(path, 'utf8');
}

if (import.meta.main) {
  const [argument] = process.argv.slice(2);
  if (argument === '--help') {
    console.log(
      `usage: npm run crds [-- --check]\nWrites ${CRD_FILE}; with --check only says whether it is up to date.`,
    );
  } else if (argument === '--check') {
    const stale = storedCrdYaml() !== crdYaml();
    console.log(stale ? `${CRD_FILE} is stale: run npm run crds` : `${CRD_FILE}: ok`);
    process.exitCode = stale ? 1 : 0;
  } else {
    writeFileSync(path, crdYaml());
    console.log(`wrote ${CRD_FILE}`);
  }
}

/** Client generators of other projects, which read the OpenAPI document. */
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { installGenerator, isGeneratorInstalled } from '../../scripts/client-types.ts';
import {
  BinariesMissingError,
  type BinaryGroup,
  pinnedVersion,
  type ResolveOptions,
  resolveGo,
  resolveGroup,
} from '../cluster/binaries.ts';
import { pythonMinor, pythonPrograms } from '../cluster/python-venv.ts';

const here = dirname(fileURLToPath(import.meta.url));

/** The Go module that pins oapi-codegen and the packages that its clients import. */
export const GO_MODULE = join(here, 'go');
const OAPI_CODEGEN = 'github.com/oapi-codegen/oapi-codegen/v2';

/** The oldest Python with which openapi-python-client works: 3.10. */
const MIN_PYTHON_MINOR = 10;

/** Why openapi-python-client cannot run here; null: it can. */
export async function noPythonReason(): Promise<string | null> {
  const minor = await pythonMinor();
  if (minor === null) return 'python3 is not installed';
  return minor < MIN_PYTHON_MINOR ? `python3 is 3.${minor}, and 3.${MIN_PYTHON_MINOR} is needed` : null;
}

/** The folder of openapi-python-client and its Python; installed first if it is missing. */
export function pythonClientPrograms(): Promise<string> {
  return pythonPrograms('openapi-python-client', join(here, 'requirements.txt'));
}

/**
 * Absolute paths of oapi-codegen, which is built if it is missing (a minute), and of Go.
 * @throws BinariesMissingError if Go is not installed
 */
export async function goClientPrograms(
  options: ResolveOptions = {},
): Promise<{ codegen: string; go: string }> {
  const version = pinnedVersion(readFileSync(join(GO_MODULE, 'go.mod'), 'utf8'), OAPI_CODEGEN);
  const group: BinaryGroup<'oapi-codegen'> = {
    name: 'oapi-codegen',
    version,
    moduleDir: GO_MODULE,
    packages: { 'oapi-codegen': `${OAPI_CODEGEN}/cmd/oapi-codegen` },
    ldflags: [],
  };
  const hint = () =>
    'The Go client of the API needs Go 1.26 or newer: install it (https://go.dev/dl) and try again.';
  const { 'oapi-codegen': codegen } = await resolveGroup(group, ['oapi-codegen'], hint, options);
  const go = resolveGo(options);
  if (go === undefined) throw new BinariesMissingError(hint());
  return { codegen, go };
}

/** Makes what is missing. */
export async function resolveGenerators(options: ResolveOptions = {}): Promise<void> {
  if (!isGeneratorInstalled()) installGenerator();
  await goClientPrograms(options);
  if ((await noPythonReason()) === null) await pythonClientPrograms();
}

import { z } from 'zod';
import type { Language } from './workflow-config.ts';

/**
 * Decides whether dependencies can be installed from their manifest files alone. In case of doubt, the answer is no.
 */

/** The dependency manifest of each language. */
export const INSTALL_MANIFEST: Readonly<Record<Language, string>> = {
  node: 'package.json',
  python: 'requirements.txt',
};

const names = z.record(z.string(), z.string()).optional();
const packageSchema = z.looseObject({
  scripts: names,
  workspaces: z.unknown().optional(),
  dependencies: names,
  devDependencies: names,
  optionalDependencies: names,
});

/** Scripts of the application itself that npm runs during an installation. */
const SCRIPTS = [
  'preinstall',
  'install',
  'postinstall',
  'prepublish',
  'preprepare',
  'prepare',
  'postprepare',
  // npm runs this script after `npm install` and `npm ci`, for the root package.
  'dependencies',
];
/** True for a path in the repository; false for a version, a range, a tag, another package or a URL. */
const isLocal = (version: string) => /^(file:|link:|portal:|workspace:|[./~])/.test(version);

function packageIsAlone(files: readonly string[], text: string): boolean {
  // npm compiles a package with a binding.gyp. A committed node_modules would overwrite the installed packages.
  if (files.includes('binding.gyp') || files.includes('node_modules')) return false;
  let content: unknown;
  try {
    content = JSON.parse(text);
  } catch {
    return false;
  }
  const { success, data } = packageSchema.safeParse(content);
  if (!success || data.workspaces !== undefined) return false;
  const { scripts = {}, dependencies, devDependencies, optionalDependencies } = data;
  const versions = [dependencies, devDependencies, optionalDependencies].flatMap((all) =>
    Object.values(all ?? {}),
  );
  return !SCRIPTS.some((script) => Object.hasOwn(scripts, script)) && !versions.some(isLocal);
}

/** `name`, `name[extra]==1`, `name @ https://…`, optionally followed by a marker, a comment or a hash. */
const REQUIREMENT = /^[A-Za-z0-9][\w.-]*\s*(\[[^\]]*\])?\s*(@\s*(git\+)?https?:|[=<>!~;#\\(]|$)/;
const OPTION =
  /^(--hash|--index-url|--extra-index-url|--trusted-host|--only-binary|--no-binary|--prefer-binary|-i)\b/;
const ARCHIVE = /^[\w.-]+\.(whl|zip|tar|tgz|gz|bz2|xz)$/;

function requirementsAreAlone(text: string): boolean {
  const lines = text.split(/\r?\n/).map((line) => line.trim());
  return lines
    .filter((line) => line !== '' && !line.startsWith('#'))
    .every((line) => OPTION.test(line) || (REQUIREMENT.test(line) && !ARCHIVE.test(line)));
}

/**
 * Whether the default installation needs no other file of the repository than `package*.json` and `.npmrc`, or
 * `requirements.txt`.
 * @param files names of the files next to the manifest
 * @param manifest text of INSTALL_MANIFEST
 */
export function needsNoSources(language: Language, files: readonly string[], manifest: string): boolean {
  return language === 'node' ? packageIsAlone(files, manifest) : requirementsAreAlone(manifest);
}

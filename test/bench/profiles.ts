/** CPU profiles of the measured Berth and of the floor of the API: settings of the processes, and the results. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { BenchContext } from './bench.ts';
import { type Cost, type CpuProfile, topCosts } from './cpu-profile.ts';
import { columns } from './report.ts';

const EVERY_US = 500;
/** Profiles with less than a second of samples belong to processes that did little after their start. */
const MIN_SAMPLES = 2000;

/**
 * The settings of a process, with those for a profile if profiles are requested.
 * @param name name of the process, with which the file of the profile begins; the pid follows, because it may restart
 */
export function profiled<Value extends string | undefined>(
  { profiles }: Pick<BenchContext, 'profiles'>,
  name: string,
  settings: Readonly<Record<string, Value>>,
): Record<string, Value | string> {
  if (profiles === null) return { ...settings };
  const file = `${name}.\${pid}.cpuprofile`;
  const options = `--cpu-prof --cpu-prof-dir=${profiles} --cpu-prof-name=${file} --cpu-prof-interval=${EVERY_US}`;
  const others = settings['NODE_OPTIONS'];
  return { ...settings, NODE_OPTIONS: others === undefined ? options : `${options} ${others}` };
}

const lines = (costs: readonly Cost[]) =>
  columns(costs.map(({ name, share }) => [`${(share * 100).toFixed(1)} %`, name]));

/** The functions and places with the highest costs of each profile in the folder, sorted by file name. */
export function summarizeProfiles(folder: string): string[] {
  const files = globSync('**/*.cpuprofile', { cwd: folder }).toSorted();
  return files.flatMap((file) => {
    const profile = JSON.parse(readFileSync(join(folder, file), 'utf8')) as CpuProfile;
    if (profile.samples.length < MIN_SAMPLES) return [];
    const { functions, places } = topCosts(profile);
    return [`${file}\n${lines(places)}\n\n${lines(functions)}`];
  });
}

/** CPU profiles of the Berth that is measured, and of the floor of the API: which processes make them, and what they say. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { BenchContext } from './bench.ts';
import { type Cost, type CpuProfile, topCosts } from './cpu-profile.ts';
import { columns } from './report.ts';

const EVERY_US = 500;
/** Profiles that hold little, a second of samples, are of processes that did little but start. */
const LEAST_SAMPLES = 2000;

/**
 * The settings of a process, with those of its profile where one is wanted.
 * @param name of the process: its profile's file begins with it; the pid follows, since it may start again
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

/** What cost most in each process of which there is a profile in the folder, in the order of their names. */
export function toldProfiles(folder: string): string[] {
  const files = globSync('**/*.cpuprofile', { cwd: folder }).toSorted();
  return files.flatMap((file) => {
    const profile = JSON.parse(readFileSync(join(folder, file), 'utf8')) as CpuProfile;
    if (profile.samples.length < LEAST_SAMPLES) return [];
    const { functions, places } = topCosts(profile);
    return [`${file}\n${lines(places)}\n\n${lines(functions)}`];
  });
}

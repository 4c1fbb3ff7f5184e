/** The deployments of test/samples, which the console offers to create. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The text of src/console/create/samples.gen.json. @param root of the checkout */
export function samplesText(root: string): string {
  const files = globSync('test/samples/*.json', { cwd: root }).toSorted();
  const bodies = files.map((file) => JSON.parse(readFileSync(join(root, file), 'utf8')));
  return `${JSON.stringify(bodies, null, 2)}\n`;
}

import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { grantedRights, manifestObjects } from '../../../installation/install.ts';

const TEXT = readFileSync(new URL('../../../../docs/security.md', import.meta.url), 'utf8');
const ROW = /^\| \w+ \| (Role|ClusterRole) `([\w-]+)`, `([\w-]+)` \| (.+?) \| .+ \|$/gm;

/** The rights of a cell: `secrets`, `pods`: get, list; … */
function rightsIn(cell: string): string[] {
  return cell.split('; ').flatMap((group) => {
    const resources = [...group.matchAll(/`([^`]+)`/g)].map(([, resource]) => resource ?? '');
    const verbs = group.slice(group.lastIndexOf(':') + 1).split(',');
    return resources.flatMap((resource) => verbs.map((verb) => `${verb.trim()} ${resource}`));
  });
}

const rows = [...TEXT.matchAll(ROW)].map(([, kind = '', role = '', profile = '', cell = '']) => ({
  kind: kind as 'Role' | 'ClusterRole',
  role,
  profile,
  rights: rightsIn(cell),
}));

test.each(rows)(
  'the table lists exactly the rights that the chart grants to the $kind $role of $profile',
  (row) => {
    const granted = grantedRights(row.profile, row.kind, row.role);
    expect(granted.length).toBeGreaterThan(0);
    expect(row.rights.toSorted()).toEqual(granted.toSorted());
  },
);

test('the table has a row for each role of the profile cloud', () => {
  const roles = manifestObjects('cloud').filter(({ kind }) => /^(Cluster)?Role$/.test(kind));
  const named = roles.map(({ kind, metadata }) => `${kind} ${metadata.name.replace(/-berth-system$/, '')}`);
  const inTable = rows
    .filter(({ profile }) => profile === 'cloud')
    .map(({ kind, role }) => `${kind} ${role}`);
  expect(inTable.toSorted()).toEqual([...new Set(named)].toSorted());
});

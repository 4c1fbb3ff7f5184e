/** A variable that is named like a setting, and that this version does not read. */
export interface UnknownSetting {
  readonly name: string;
  /** The setting that it may have been meant to be; null: none is named like it. */
  readonly nearest: string | null;
  /** It is so near to a setting that is not set that it cannot be another version's: it is that one, misspelt. */
  readonly isMisspelt: boolean;
}

/** Variables that begin like settings and are none. */
const NO_SETTINGS: readonly RegExp[] = [
  // Of API clients: a shell that has read .berth/demo.env.
  /^BERTH_(URL|API_KEY|TENANT_ID)$/,
  // Of the test suite.
  /^BERTH_TEST_/,
  // Set by Kubernetes in pods for each Service of their namespace.
  /_(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT_\d+_(TCP|UDP)(_\w+)?|API_PORT)$/,
];

/** How many characters are to be put in, taken out or changed to make one text of the other. */
function changesBetween(one: string, other: string): number {
  let above = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (const [row, character] of [...one].entries()) {
    const current = [row + 1];
    for (let column = 0; column < other.length; column++) {
      current.push(
        Math.min(
          (above[column] ?? 0) + (character === other[column] ? 0 : 1),
          (above[column + 1] ?? 0) + 1,
          (current[column] ?? 0) + 1,
        ),
      );
    }
    above = current;
  }
  return above[other.length] ?? 0;
}

/** A name is like another when so many characters differ at most: two of them swapped, one forgotten. */
const ALIKE = 3;
/** No new setting is named so near to one that there is: an earlier version would refuse it. */
const MISSPELT = 2;

function describe(name: string, known: readonly string[], environment: NodeJS.ProcessEnv): UnknownSetting {
  const [nearest] = known
    .map((other) => ({ other, changes: changesBetween(name, other) }))
    .filter(({ changes }) => changes <= ALIKE)
    .sort((one, other) => one.changes - other.changes);
  if (nearest === undefined) return { name, nearest: null, isMisspelt: false };
  const { other, changes } = nearest;
  return { name, nearest: other, isMisspelt: changes <= MISSPELT && !environment[other] };
}

/**
 * What of the environment is named like a setting and is none of those known, in order. The values are not looked at: one
 * may be a secret.
 */
export function unknownSettings(
  environment: NodeJS.ProcessEnv,
  known: readonly string[],
): readonly UnknownSetting[] {
  return Object.keys(environment)
    .filter((name) => name.startsWith('BERTH_') && !known.includes(name))
    .filter((name) => !NO_SETTINGS.some((pattern) => pattern.test(name)))
    .sort()
    .map((name) => describe(name, known, environment));
}

/** An unknown setting in words. */
export function describeUnknown({ name, nearest }: Pick<UnknownSetting, 'name' | 'nearest'>): string {
  return `${name}: this version does not have this setting${nearest === null ? '' : `; did you mean ${nearest}?`}`;
}

/** A variable with the name form of a setting that this version does not have. */
export interface UnknownSetting {
  readonly name: string;
  /** The setting with the most similar name. null: no setting is similar. */
  readonly nearest: string | null;
  /**
   * Whether the name is a misspelling of an unset setting, not a setting of another version, because the names are very
   * similar.
   */
  readonly isMisspelt: boolean;
}

/** Variables with the prefix of settings that are not settings. */
const NO_SETTINGS: readonly RegExp[] = [
  // Variables of API clients, for example in a shell that has sourced .berth/demo.env.
  /^BERTH_(URL|API_KEY|TENANT_ID)$/,
  // Variables of the test suite.
  /^BERTH_TEST_/,
  // Variables that Kubernetes sets in pods for each Service of their namespace.
  /_(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT_\d+_(TCP|UDP)(_\w+)?|API_PORT)$/,
];

/** Edit distance (Levenshtein) of two texts. */
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

/** Largest edit distance of similar names. This distance allows two swapped characters and a missing character. */
const ALIKE = 3;
/** Largest edit distance of a misspelling. New settings must differ more from existing ones, or an earlier version would reject them. */
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
 * Variables that have the name form of a setting but are unknown, in order. The values are not read, because they may be
 * secret.
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

/** The message about an unknown setting. */
export function describeUnknown({ name, nearest }: Pick<UnknownSetting, 'name' | 'nearest'>): string {
  return `${name}: this version does not have this setting${nearest === null ? '' : `; did you mean ${nearest}?`}`;
}

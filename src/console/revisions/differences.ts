import type { Revision } from '../api/types.ts';

/** Differences between two revisions, field by field. Values of secrets are not known here, so only their names are compared. */

export interface Difference {
  /** Such as `env.PORT` or `image_uri`. */
  readonly field: string;
  /** null: not set. */
  readonly from: string | null;
  readonly to: string | null;
}

/** A value as the table shows it. */
export function textOf(value: unknown): string | null {
  if (value === undefined || value === null) return null;
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** What a name in the list of secrets stands for. */
const SET = 'set';

type Fields = ReadonlyMap<string, string | null>;

const named = (prefix: string, values: Readonly<Record<string, unknown>>) =>
  Object.entries(values).map(([name, value]) => [`${prefix}${name}`, textOf(value)] as const);

function commandText({ command = [], args = [], source }: NonNullable<EffectiveCommand>): string {
  const words = [...command, ...args].map((word) => JSON.stringify(word)).join(' ');
  return source === 'procfile' ? `${words} (Procfile)` : words;
}
type EffectiveCommand = NonNullable<Revision['effective_commands']>[keyof NonNullable<
  Revision['effective_commands']
>];

/** All fields of a revision that can be compared, in the order in which they are shown. */
function fieldsOf(revision: Revision): Fields {
  const { env = [], commands: _commands, ...config } = revision.source_revision_config;
  const commands = Object.entries(revision.effective_commands ?? {}).map(
    ([component, command]) => [component, commandText(command)] as const,
  );
  const variables = env.map(({ name, value }) => [name, value] as const);
  const references = (revision.secret_references ?? []).map(
    ({ name, secret_name: secret, secret_key: key }) => [name, `${secret}/${key}`] as const,
  );
  return new Map([
    ...named('', { ...config, resolved_image: revision.resolved_image }),
    ...named('upload.', { ...revision.upload }),
    ...named('commands.', Object.fromEntries(commands)),
    ...named('env.', Object.fromEntries(variables)),
    ...named('secret_references.', Object.fromEntries(references)),
    ...(revision.secret_names ?? []).map((name) => [`secrets.${name}`, SET] as const),
  ]);
}

/** Whether the names of the secrets of both revisions can be compared. */
export const knowsSecrets = (from: Revision, to: Revision): boolean =>
  from.secret_names !== undefined && to.secret_names !== undefined;

/** The fields that differ. Without the secrets if those of one revision are not known. */
export function differences(from: Revision, to: Revision): Difference[] {
  const [old, fresh] = [fieldsOf(from), fieldsOf(to)];
  const isKnown = knowsSecrets(from, to);
  return [...new Set([...old.keys(), ...fresh.keys()])]
    .filter((field) => isKnown || !field.startsWith('secrets.'))
    .map((field) => ({ field, from: old.get(field) ?? null, to: fresh.get(field) ?? null }))
    .filter((each) => each.from !== each.to);
}

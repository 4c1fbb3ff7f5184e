import type { BodyIssue } from '../core/body-issue.ts';
import type { Secret } from '../deployment/deployment.ts';
import type { RunSettings } from './run-settings.ts';

/**
 * Secrets, references to Secrets and env share one set of names, because one would silently hide the other in the
 * container.
 */

interface Named {
  readonly sourceRevisionConfig: RunSettings;
  readonly secrets: readonly Secret[];
}

/** Which of the lists the request contains. An issue is about a list that was sent. */
export interface SentLists {
  readonly sentEnv: boolean;
  readonly sentReferences: boolean;
  readonly sentSecrets: boolean;
}

/** A list of names. `place` and `item` describe one of its items in messages. */
interface NameList {
  readonly sent: boolean;
  readonly loc: readonly string[];
  readonly place: string;
  readonly item: string;
  readonly names: readonly string[];
}

const namesOf = (items: readonly { readonly name: string }[]) => items.map(({ name }) => name);

/** The lists, in the order in which a shared name is reported: for the first of them that was sent. */
function listsOf(
  { sourceRevisionConfig: { env = [], secretReferences = [] }, secrets }: Named,
  { sentEnv, sentReferences, sentSecrets }: SentLists,
): NameList[] {
  return [
    {
      sent: sentEnv,
      loc: ['source_revision_config', 'env'],
      place: 'a variable in source_revision_config.env',
      item: 'a variable',
      names: namesOf(env),
    },
    {
      sent: sentReferences,
      loc: ['secret_references'],
      place: 'a variable in secret_references',
      item: 'a reference',
      names: namesOf(secretReferences),
    },
    { sent: sentSecrets, loc: ['secrets'], place: 'a secret', item: 'a secret', names: namesOf(secrets) },
  ];
}

/** The names that are in several lists. Empty if the request contains none of the lists, because stored lists share no name. */
export function sharedNameIssues(named: Named, sent: SentLists): BodyIssue[] {
  const lists = listsOf(named, sent);
  const reported = new Set<string>();
  return lists
    .filter((list) => list.sent)
    .flatMap((list) =>
      list.names.flatMap((name, index) => {
        const other = lists.find((each) => each !== list && each.names.includes(name));
        if (other === undefined || reported.has(name)) return [];
        reported.add(name);
        const msg = `must not be the name of ${other.place}, but there is ${other.item} '${name}'`;
        return [{ loc: [...list.loc, index, 'name'], msg, type: 'name_shared' }];
      }),
    );
}

import type { Command } from 'commander';
import { describe } from '../../command/command.ts';
import type { Host } from '../../command/host.ts';
import { UsageError } from '../../command/usage-error.ts';
import { apiCommand, calling } from '../call.ts';
import { UUID } from '../lookup.ts';
import { confirm } from '../terminal/confirm.ts';
import { yesTo } from '../terminal/yes.ts';

/** `berth people …`. */

const DETAILS = `The commands need a key with the scope admin, or the role platform_admin. The id of a person is in events (actor) and in berth
tokens list --all -o json (person_id).`;

const SIGN_OUT = `Ends all sessions and access tokens of the person, in all tenants. The person can sign in again while a group of the person has
a role, so first remove the person from its groups at the identity provider. API keys that the person created remain.`;

const signOut = (host: Host) => {
  const made = apiCommand('sign-out', 'end all sessions and access tokens of a person', { formats: [] })
    .argument('<person>', 'id of the person')
    .option(...yesTo('sign the person out'))
    .action(
      calling(host, async (context, person: string, { yes }: { yes: boolean }) => {
        if (!UUID.test(person)) throw new UsageError('the person must be an id, as in events (actor)');
        await confirm(`End all sessions and access tokens of the person ${person}?`, yes);
        await context.client.POST('/v2/auth/people/{person_id}/sign-out', {
          params: { path: { person_id: person } },
        });
        context.note(`signed the person ${person} out`);
      }),
    );
  return describe(made, SIGN_OUT);
};

export function buildPeople(made: Command, host: Host): void {
  describe(made, DETAILS).addCommand(signOut(host));
}

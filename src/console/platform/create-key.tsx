import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { read } from '../api/client.ts';
import { commandLine } from '../commands/commands.ts';
import { ShowCommand } from '../commands/show-command.tsx';
import { scopesIn } from '../session/rights.ts';
import { useSession } from '../session/session-gate.tsx';
import { useTenantApi } from '../shell/tenant-context.ts';
import { ActionDialog } from '../ui/action-dialog.tsx';
import { SecretOnce } from '../ui/copy/secret-once.tsx';
import { ChoiceField } from '../ui/fields/choice-field.tsx';
import fields from '../ui/fields/fields.module.css';
import { TextField } from '../ui/fields/text-field.tsx';
import { expiryOf, KEY_SCOPES, type KeyScope, LIFETIMES } from './key-form.ts';
import { useRequestAgain } from './use-request-again.ts';

interface ScopesProps {
  readonly chosen: readonly KeyScope[];
  readonly onChange: (chosen: KeyScope[]) => void;
}

/** The scopes that the session has, because a session can give only its own. */
function Scopes({ chosen, onChange }: ScopesProps) {
  const { tenantId } = useTenantApi();
  const held = scopesIn(useSession(), tenantId);
  return (
    <fieldset className={fields['choices']}>
      <legend>Scopes</legend>
      {KEY_SCOPES.filter((scope) => held.has(scope)).map((scope) => (
        <label key={scope}>
          <input
            type="checkbox"
            checked={chosen.includes(scope)}
            onChange={({ target }) =>
              onChange(KEY_SCOPES.filter((each) => (each === scope ? target.checked : chosen.includes(each))))
            }
          />{' '}
          {scope}
        </label>
      ))}
    </fieldset>
  );
}

const FIRST = { name: '', scopes: ['deployments:read'] as readonly KeyScope[], lifetime: '90d' };

/** Creates a key of the tenant, or of the platform. The key is in memory only while the dialog is open. */
export function CreateKey({ isPlatform }: { readonly isPlatform: boolean }) {
  const api = useTenantApi();
  const [{ name, scopes, lifetime }, setForm] = useState(FIRST);
  const set = (changes: Partial<typeof FIRST>) => setForm((form) => ({ ...form, ...changes }));
  const bodyNow = () => ({
    name: name.trim(),
    scopes: [...scopes],
    platform: isPlatform,
    expires_at: expiryOf(lifetime, Date.now()),
  });
  const action = useMutation({
    mutationFn: () => read(api.POST('/v2/api-keys', { body: bodyNow() })),
    // The answer contains the key, so the cache must not keep it.
    onSuccess: useRequestAgain(),
  });
  const words = [
    ...(scopes.length === 0 ? [] : ['--scopes', scopes.join()]),
    ...(lifetime === '' ? [] : ['--expires', lifetime]),
    ...(isPlatform ? ['--platform'] : []),
  ];
  const what = isPlatform ? 'a key of the platform' : 'an API key';
  return (
    <ActionDialog
      opens={`Create ${what}`}
      title={`Create ${what}`}
      acts="Create"
      action={action}
      onClose={() => setForm(FIRST)}
      result={action.data === undefined ? null : <SecretOnce label="The API key" value={action.data.key} />}
      command={
        <ShowCommand
          title="Create the API key"
          request={{ method: 'POST', path: '/v2/api-keys', tenantId: api.tenantId, body: bodyNow() }}
          berth={commandLine('berth', 'api-keys', 'create', name.trim(), ...words)}
        />
      }
    >
      <TextField
        label="Name"
        hint="Who uses the key, and for what"
        value={name}
        onChange={(value) => set({ name: value })}
        required
      />
      <Scopes chosen={scopes} onChange={(value) => set({ scopes: value })} />
      <ChoiceField
        label="Expires"
        choices={LIFETIMES}
        value={lifetime}
        onChange={(value) => set({ lifetime: value })}
      />
    </ActionDialog>
  );
}

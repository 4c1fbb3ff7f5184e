import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { read } from '../api/client.ts';
import type { Integration } from '../api/types.ts';
import { commandLine } from '../commands/commands.ts';
import { ShowCommand } from '../commands/show-command.tsx';
import { useTenantApi } from '../shell/tenant-context.ts';
import { ActionDialog } from '../ui/action-dialog.tsx';
import { SecretOnce } from '../ui/copy/secret-once.tsx';
import { ChoiceField } from '../ui/fields/choice-field.tsx';
import { TextField } from '../ui/fields/text-field.tsx';
import { isolated } from '../ui/isolated.ts';
import { useRequestAgain } from './use-request-again.ts';

const PROVIDERS = [
  ['github', 'GitHub'],
  ['gitlab', 'GitLab'],
  ['git', 'Another git server'],
] as const;
type Provider = (typeof PROVIDERS)[number][0];
const providerOf = (text: string): Provider => PROVIDERS.find(([value]) => value === text)?.[0] ?? 'git';

/** Shown in commands instead of the token. */
const TOKEN = 'TOKEN';
const FIRST = { name: '', provider: 'github' as Provider, url: 'https://github.com', token: '' };

export function CreateIntegration() {
  const api = useTenantApi();
  const [form, setForm] = useState(FIRST);
  const set = (changes: Partial<typeof FIRST>) => setForm((before) => ({ ...before, ...changes }));
  const { provider } = form;
  const fields = { name: form.name.trim(), provider, host_url: form.url.trim() };
  const action = useMutation({
    mutationFn: () => read(api.POST('/v2/integrations', { body: { ...fields, token: form.token } })),
    onSuccess: useRequestAgain(),
  });
  const words = ['--provider', provider, '--host-url', fields.host_url];
  return (
    <ActionDialog
      opens="Create an integration"
      title="Create an integration"
      acts="Create"
      action={action}
      onClose={() => setForm(FIRST)}
      command={
        <ShowCommand
          title="Create the integration"
          request={{
            method: 'POST',
            path: '/v2/integrations',
            tenantId: api.tenantId,
            body: { ...fields, token: TOKEN },
          }}
          berth={commandLine('berth', 'integrations', 'create', fields.name, ...words)}
        />
      }
    >
      <TextField label="Name" value={form.name} onChange={(name) => set({ name })} required />
      <ChoiceField
        label="Git host"
        choices={PROVIDERS}
        value={provider}
        onChange={(text) => set({ provider: providerOf(text) })}
      />
      <TextField
        label="URL of the git host"
        hint="The token is used only for this host. The URL cannot be changed."
        value={form.url}
        onChange={(url) => set({ url })}
        required
      />
      <TextField
        label="Token"
        hint="Berth never shows it."
        type="password"
        value={form.token}
        onChange={(token) => set({ token })}
        required
      />
    </ActionDialog>
  );
}

interface IntegrationActionProps {
  readonly integration: Integration;
}

export function ReplaceToken({ integration: { id, name } }: IntegrationActionProps) {
  const api = useTenantApi();
  const [token, setToken] = useState('');
  const params = { path: { integration_id: id } };
  const action = useMutation({
    mutationFn: () => read(api.PATCH('/v2/integrations/{integration_id}', { params, body: { token } })),
    onSuccess: useRequestAgain(),
  });
  const body = { token: TOKEN };
  return (
    <ActionDialog
      opens="Replace the token"
      of={`of ${name}`}
      title={`Replace the token of ${isolated(name)}`}
      acts="Replace"
      action={action}
      onClose={() => setToken('')}
      command={
        <ShowCommand
          title="Replace the token"
          request={{ method: 'PATCH', path: `/v2/integrations/${id}`, tenantId: api.tenantId, body }}
          berth={commandLine('berth', 'integrations', 'update', name, '--replace-token')}
        />
      }
    >
      <TextField label="New token" type="password" value={token} onChange={setToken} required />
    </ActionDialog>
  );
}

/** Creates a secret for webhooks. The secret is in memory only while the dialog is open. */
export function CreateWebhookSecret({ integration: { id, name } }: IntegrationActionProps) {
  const api = useTenantApi();
  const params = { path: { integration_id: id } };
  const action = useMutation({
    mutationFn: () => read(api.POST('/v2/integrations/{integration_id}/webhook-secret', { params })),
    onSuccess: useRequestAgain(),
  });
  const path = `/v2/integrations/${id}/webhook-secret`;
  return (
    <ActionDialog
      opens="Create a webhook secret"
      of={`for ${name}`}
      title={`Create a webhook secret for ${isolated(name)}`}
      acts="Create"
      action={action}
      result={
        action.data === undefined ? null : (
          <>
            <p>
              URL of the webhook: <code>{action.data.url}</code>
            </p>
            <SecretOnce label="The webhook secret" value={action.data.secret} />
          </>
        )
      }
      command={
        <ShowCommand
          title="Create the webhook secret"
          request={{ method: 'POST', path, tenantId: api.tenantId }}
          berth={commandLine('berth', 'integrations', 'create-webhook-secret', name)}
        />
      }
    >
      <p>The former secret stays valid for a while, so that you can replace it at the git host.</p>
    </ActionDialog>
  );
}

export function DeleteIntegration({ integration: { id, name } }: IntegrationActionProps) {
  const api = useTenantApi();
  const params = { path: { integration_id: id } };
  const action = useMutation({
    mutationFn: () => read(api.DELETE('/v2/integrations/{integration_id}', { params })),
    onSuccess: useRequestAgain(),
  });
  return (
    <ActionDialog
      opens="Delete"
      of={name}
      title={`Delete the integration ${isolated(name)}`}
      acts="Delete the integration"
      isDanger
      action={action}
      command={
        <ShowCommand
          title="Delete the integration"
          request={{ method: 'DELETE', path: `/v2/integrations/${id}`, tenantId: api.tenantId }}
          berth={commandLine('berth', 'integrations', 'delete', name)}
        />
      }
    >
      <p>An integration that a deployment uses cannot be deleted.</p>
    </ActionDialog>
  );
}

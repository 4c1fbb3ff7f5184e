import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { platformApi, read } from '../api/client.ts';
import type { Tenant } from '../api/types.ts';
import { commandLine } from '../commands/commands.ts';
import { ShowCommand } from '../commands/show-command.tsx';
import { useTenantApi } from '../shell/tenant-context.ts';
import { ActionDialog } from '../ui/action-dialog.tsx';
import { TextField } from '../ui/fields/text-field.tsx';
import { isolated } from '../ui/isolated.ts';
import { QUOTAS, quotaOptions, quotasOf, quotaTextsOf } from './quota-form.ts';
import { useRequestAgain } from './use-request-again.ts';

export function CreateTenant() {
  const { tenantId } = useTenantApi();
  const [name, setName] = useState('');
  const body = { name: name.trim() };
  const action = useMutation({
    mutationFn: () => read(platformApi.POST('/v2/tenants', { body })),
    onSuccess: useRequestAgain(),
  });
  return (
    <ActionDialog
      opens="Create a tenant"
      title="Create a tenant"
      acts="Create"
      action={action}
      onClose={() => setName('')}
      command={
        <ShowCommand
          title="Create the tenant"
          request={{ method: 'POST', path: '/v2/tenants', tenantId, body }}
          berth={commandLine('berth', 'tenants', 'create', body.name)}
        />
      }
    >
      <TextField label="Name" value={name} onChange={setName} required />
    </ActionDialog>
  );
}

interface TenantActionProps {
  readonly tenant: Tenant;
}

/** The quotas, or null while a text is wrong. */
function bodyOf(texts: Parameters<typeof quotasOf>[0]) {
  try {
    return { quotas: quotasOf(texts) };
  } catch {
    return null;
  }
}

export function EditQuotas({ tenant }: TenantActionProps) {
  const { tenantId } = useTenantApi();
  const { id, name } = tenant;
  const stored = quotaTextsOf(tenant);
  // null: the form was not changed, and follows what is stored.
  const [typed, setTyped] = useState<typeof stored | null>(null);
  const texts = typed ?? stored;
  const body = bodyOf(texts);
  const action = useMutation({
    mutationFn: async () => {
      const quotas = quotasOf(texts);
      return read(
        platformApi.PATCH('/v2/tenants/{tenant_id}', {
          params: { path: { tenant_id: id } },
          body: { quotas },
        }),
      );
    },
    onSuccess: useRequestAgain(),
  });
  const options = quotaOptions(stored, texts);
  const request = { method: 'PATCH', path: `/v2/tenants/${id}`, tenantId, body } as const;
  return (
    <ActionDialog
      opens="Quotas"
      of={`of ${name}`}
      title={`Quotas of ${isolated(name)}`}
      acts="Save"
      action={action}
      onClose={() => setTyped(null)}
      command={
        body !== null && (
          <ShowCommand
            title="Set the quotas"
            request={request}
            {...(options === null || options.length === 0
              ? {}
              : { berth: commandLine('berth', 'tenants', 'update', name, ...options) })}
          />
        )
      }
    >
      <p>
        A number, <code>none</code> for no limit, or empty for the quota of the policy. A quota below the
        usage stops no deployment.
      </p>
      {QUOTAS.map(([quota, label]) => (
        <TextField
          key={quota}
          label={label}
          value={texts[quota]}
          onChange={(value) => setTyped({ ...texts, [quota]: value })}
        />
      ))}
    </ActionDialog>
  );
}

export function DeleteTenant({ tenant: { id, name } }: TenantActionProps) {
  const { tenantId } = useTenantApi();
  const [typed, setTyped] = useState('');
  const action = useMutation({
    mutationFn: async () => {
      if (typed.trim() !== name) throw new Error(`Name of the tenant must be ${name}.`);
      return read(platformApi.DELETE('/v2/tenants/{tenant_id}', { params: { path: { tenant_id: id } } }));
    },
    onSuccess: useRequestAgain(),
  });
  return (
    <ActionDialog
      opens="Delete"
      of={name}
      title={`Delete the tenant ${isolated(name)}`}
      acts="Delete the tenant"
      isDanger
      action={action}
      onClose={() => setTyped('')}
      command={
        <ShowCommand
          title="Delete the tenant"
          request={{ method: 'DELETE', path: `/v2/tenants/${id}`, tenantId }}
          berth={commandLine('berth', 'tenants', 'delete', name)}
        />
      }
    >
      <p>
        Its API keys, tags, integrations and tracing projects are deleted too. A tenant with deployments or
        listeners cannot be deleted.
      </p>
      <TextField label="Name of the tenant, to confirm" value={typed} onChange={setTyped} required />
    </ActionDialog>
  );
}

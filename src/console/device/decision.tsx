import { useMutation } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { platformApi, read } from '../api/client.ts';
import type { DeviceLogin } from '../api/types.ts';
import { useSession } from '../session/session-gate.tsx';
import { Button } from '../ui/button.tsx';
import { Facts } from '../ui/facts.tsx';
import { ChoiceField } from '../ui/fields/choice-field.tsx';
import fields from '../ui/fields/fields.module.css';
import { ProblemNotice } from '../ui/problem-notice.tsx';
import { choicesOf, firstChoice } from './choices.ts';
import styles from './device.module.css';

interface DecisionProps {
  readonly login: DeviceLogin;
  readonly onDecided: (decision: 'approve' | 'deny') => void;
}

/** Shows who asks, and approves or denies. Nothing is decided without a click. */
export function Decision({ login, onDecided }: DecisionProps) {
  const { name: person } = useSession();
  const choices = choicesOf(login);
  const [value, setValue] = useState(() => firstChoice(login));
  const choice = choices.find((each) => each.value === value);
  const params = { path: { user_code: login.user_code } };
  const decide = useMutation({
    mutationFn: (decision: 'approve' | 'deny') => {
      if (decision === 'deny')
        return read(platformApi.POST('/v2/auth/device/{user_code}', { params, body: { decision } }));
      if (choice === undefined) throw new Error('Choose a tenant and a role.');
      const roles = choice.role === null ? {} : { roles: [choice.role] };
      const body = { decision, tenant_id: choice.tenantId, ...roles };
      return read(platformApi.POST('/v2/auth/device/{user_code}', { params, body }));
    },
    onSuccess: (_answer, decision) => onDecided(decision),
  });
  function approve(event: FormEvent) {
    event.preventDefault();
    if (!decide.isPending) decide.mutate('approve');
  }
  return (
    <form className={fields['form']} onSubmit={approve}>
      <p className={styles['warning']}>
        Approve only if you started <code>berth login</code> on this machine just now. If someone sent you the
        code, deny: the machine gets your rights.
      </p>
      <Facts
        isNarrow
        facts={[
          ['Code', login.user_code],
          ['Machine', login.machine],
          ['Address', login.address],
          ['You', person],
        ]}
      />
      <ChoiceField
        label="Tenant and role of the machine, for at most 12 hours"
        value={value}
        onChange={setValue}
        choices={[
          ['', 'Choose a tenant and a role'],
          ...choices.map((each) => [each.value, each.text] as const),
        ]}
      />
      {decide.error !== null && <ProblemNotice error={decide.error} />}
      <div className={fields['row']}>
        <Button type="submit" variant="primary" isBusy={decide.isPending} disabled={choice === undefined}>
          Approve
        </Button>
        <Button onClick={() => decide.mutate('deny')} isBusy={decide.isPending}>
          Deny
        </Button>
      </div>
    </form>
  );
}

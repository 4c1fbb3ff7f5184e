import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { policyQuery } from '../api/policy.ts';
import { Problem } from '../api/problem.ts';
import type { Deployment } from '../api/types.ts';
import styles from '../change/change.module.css';
import { changeCommand } from '../change/commands.ts';
import { PlannedChange } from '../change/planned-change.tsx';
import { revealSecrets } from '../change/requests.ts';
import { type Change, useChange, useFollow } from '../change/use-change.ts';
import { ShowCommand } from '../commands/show-command.tsx';
import { useDeployment } from '../deployment/deployment-context.ts';
import { Section } from '../deployment/section.tsx';
import { sameJson } from '../form/json.ts';
import { useScope } from '../session/use-scope.ts';
import { useTenantApi } from '../shell/tenant-context.ts';
import { Button } from '../ui/button.tsx';
import { ProblemNotice } from '../ui/problem-notice.tsx';
import { changeField, patchOf } from './document.ts';
import { DocumentEditor } from './document-editor.tsx';
import { placed } from './draft.ts';
import { ErrorSummary } from './error-summary.tsx';
import { fieldsFor, leadOf } from './groups.ts';
import { hintsOf } from './hints.ts';
import { useLeaveGuard } from './leave-guard.tsx';
import { OutdatedNotice } from './outdated-notice.tsx';
import type { StoredSecrets } from './secrets-input.tsx';
import { type Edit, useEdit } from './use-edit.ts';

const NO_ERRORS: Problem['fields'] = [];
const fieldErrors = (error: Error | null) => (error instanceof Problem ? error.fields : NO_ERRORS);

/** The secrets of a deployment, whose values the session may or may not see. */
function useStoredSecrets(deployment: Deployment): StoredSecrets {
  const api = useTenantApi();
  const mayReveal = useScope('secrets:read');
  return useMemo(
    () => ({
      names: new Set(deployment.secrets.map(({ name }) => name)),
      reveal: mayReveal ? () => revealSecrets(api, deployment) : null,
    }),
    [api, deployment, mayReveal],
  );
}

interface EditPartProps {
  readonly edit: Edit;
  readonly change: Change;
}

/** What the edit collides with: changes of others, and a deletion. */
function Collisions({ edit, change }: EditPartProps) {
  const { deployment } = useDeployment();
  const restart = (action: () => void) => () => {
    action();
    change.reset();
  };
  return (
    <>
      {edit.isOutdated && (
        <OutdatedNotice
          deployment={deployment}
          changes={edit.changesOfOthers()}
          onContinue={edit.continueOnNewest && restart(edit.continueOnNewest)}
          onDiscard={restart(edit.discard)}
        />
      )}
      {deployment.status === 'AWAITING_DELETE' && (
        <p className={styles['notice']}>The deployment is being deleted. Restore it before you change it.</p>
      )}
    </>
  );
}

/** Plans and applies what was typed. */
function Buttons({ edit, change }: EditPartProps) {
  const { base, before, document, isDirty, isOutdated } = edit;
  const { plan, apply } = change;
  const patch = useMemo(() => (document === null ? null : patchOf(before, document)), [before, document]);
  const planned = plan.data;
  const isPlanned =
    planned !== undefined && planned.deployment === base && patch !== null && sameJson(planned.patch, patch);
  return (
    <>
      <div className={styles['buttons']}>
        <Button
          variant={isPlanned ? 'plain' : 'primary'}
          isBusy={plan.isPending}
          disabled={patch === null || !isDirty || isOutdated}
          onClick={() => patch !== null && change.requestPlan({ deployment: base, patch })}
        >
          Plan
        </Button>
        <Button
          disabled={!isDirty}
          onClick={() => {
            edit.discard();
            change.reset();
          }}
        >
          Discard changes
        </Button>
        {patch !== null && isDirty && (
          <ShowCommand title="Apply this change" {...changeCommand(base, patch)} />
        )}
      </div>
      {isPlanned && !isOutdated && <PlannedChange planned={planned} apply={apply} />}
    </>
  );
}

/** Changes the desired state of a deployment. */
function Editor() {
  const { deployment } = useDeployment();
  const field = useMemo(() => fieldsFor(deployment.source, changeField()), [deployment.source]);
  const edit = useEdit(deployment, field);
  const guard = useLeaveGuard(edit.isDirty);
  const follow = useFollow();
  const change = useChange((changed) => {
    guard.allow();
    void follow(changed);
  });
  const stored = useStoredSecrets(edit.base);
  const { base, document } = edit;
  const { data: policy = null } = useQuery(policyQuery(useTenantApi()));
  const hintOf = useMemo(() => hintsOf({ deployment: base, document, policy }), [base, document, policy]);
  const { error } = change;
  const errors = fieldErrors(error);
  return (
    <div className={styles['editor']}>
      {guard.dialog}
      <Collisions edit={edit} change={change} />
      <DocumentEditor
        field={field}
        draft={edit.draft}
        onChange={edit.setDraft}
        errors={errors}
        hintOf={hintOf}
        stored={stored}
        lead={leadOf(deployment.source)}
      />
      {errors.length > 0 && <ErrorSummary errors={placed(edit.draft, errors)} />}
      {error !== null && errors.length === 0 && <ProblemNotice error={error} />}
      <Buttons edit={edit} change={change} />
    </div>
  );
}

/** The edit of a deployment, for sessions that may change it. */
export function EditTab() {
  const { deployment } = useDeployment();
  const isAllowed = useScope('deployments:write');
  return (
    <Section id="edit" title="Edit">
      {isAllowed ? (
        <Editor key={deployment.id} />
      ) : (
        <p>You may not change this deployment: the session does not have the scope deployments:write.</p>
      )}
    </Section>
  );
}

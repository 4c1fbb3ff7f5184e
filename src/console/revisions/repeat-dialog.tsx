import { useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Problem } from '../api/problem.ts';
import type { Deployment, Revision, RevisionDryRun } from '../api/types.ts';
import { effectsOf } from '../change/plan.ts';
import { PlanView } from '../change/plan-view.tsx';
import { commandLine } from '../commands/commands.ts';
import { ShowCommand } from '../commands/show-command.tsx';
import { useTenantApi } from '../shell/tenant-context.ts';
import { hasRelease } from '../tasks/release.ts';
import { Button } from '../ui/button.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { Loading } from '../ui/loading.tsx';
import { LongText } from '../ui/long-text.tsx';
import { ProblemNotice } from '../ui/problem-notice.tsx';
import {
  previewQuery,
  type Repeated,
  type RepeatKind,
  type RepeatPreview,
  repeatRevision,
} from './queries.ts';
import styles from './revisions.module.css';

const WORDS = {
  rollback: { title: 'Roll back to revision', act: 'Roll back' },
  redeploy: { title: 'Redeploy revision', act: 'Redeploy' },
} as const satisfies Readonly<Record<RepeatKind, object>>;

function Preview({ plan, number }: { readonly plan: RevisionDryRun; readonly number: number }) {
  return (
    <>
      <p>
        This creates a new revision with the content of revision {number}, including its secrets and its
        image. Sizes, scale and URL do not change.
      </p>
      {plan.changes.length > 0 && <PlanView plan={plan} />}
      {plan.changes.length === 0 && (
        <>
          <p>The latest revision has the same content.</p>
          <ul>
            {effectsOf(plan).map((effect) => (
              <li key={effect}>
                <LongText text={effect} />
              </li>
            ))}
          </ul>
        </>
      )}
    </>
  );
}

/** Whether the deployment has changed since the preview, so that it is requested again. */
const isOutdated = (error: Error | null) =>
  error instanceof Problem && (error.status === 412 || error.status === 409);

export interface Repetition {
  readonly kind: RepeatKind;
  readonly revision: Revision;
}

interface RepeatDialogProps extends Repetition {
  readonly deployment: Deployment;
  readonly onClose: () => void;
  /** @param generation of the deployment with the new revision */
  readonly onDone: (generation: number) => void;
}

/** The preview of a rollback or redeploy, and the button that does it. The preview follows changes of the deployment. */
export function RepeatDialog({ kind, revision, deployment, onClose, onDone }: RepeatDialogProps) {
  const { id, name, tenant_id: tenantId } = deployment;
  const api = useTenantApi();
  const title = `${WORDS[kind].title} ${revision.number}`;
  const [runsRelease, setRunsRelease] = useState(false);
  const repeated: Repeated = { kind, deployment_id: id, revision_id: revision.id, runsRelease };
  const preview = useQuery(previewQuery(api, repeated));
  const [key, setKey] = useState(() => crypto.randomUUID());
  const action = useMutation({
    mutationFn: ({ etag }: RepeatPreview) => repeatRevision(api, repeated, { etag, key }),
    onError: (error) => {
      if (isOutdated(error)) void preview.refetch();
    },
  });
  return (
    <Dialog title={title} isOpen onClose={onClose}>
      {kind === 'rollback' && hasRelease(revision) && (
        <p>
          <label>
            <input
              type="checkbox"
              checked={runsRelease}
              disabled={action.isPending}
              onChange={({ target }) => {
                setRunsRelease(target.checked);
                // Another request needs another key.
                setKey(crypto.randomUUID());
              }}
            />{' '}
            Run the release command of the revision again
          </label>
        </p>
      )}
      {preview.isPending && <Loading what="the preview" />}
      {preview.error !== null && (
        <ProblemNotice error={preview.error} onRetry={() => void preview.refetch()} />
      )}
      {preview.data !== undefined && <Preview plan={preview.data.plan} number={revision.number} />}
      {action.error !== null && <ProblemNotice error={action.error} />}
      {isOutdated(action.error) && <p>The preview shows the deployment as it is now. You can try again.</p>}
      <div className={styles['actions']}>
        {preview.data !== undefined && (
          <Button
            variant="primary"
            isBusy={action.isPending || preview.isFetching}
            // Called only while the dialog is open, so that a person who has left is not brought to another page.
            onClick={() => action.mutate(preview.data, { onSuccess: onDone })}
          >
            {WORDS[kind].act}
          </Button>
        )}
        <ShowCommand
          title={title}
          request={{
            method: 'POST',
            path: `/v2/deployments/${id}/revisions/${revision.id}/${kind}`,
            tenantId,
            ...(runsRelease ? { body: { run_release: true } } : {}),
          }}
          berth={commandLine(
            ...['berth', 'revisions', kind, name, String(revision.number)],
            ...(runsRelease ? ['--run-release'] : []),
          )}
        />
      </div>
    </Dialog>
  );
}

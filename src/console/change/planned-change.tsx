import { Button } from '../ui/button.tsx';
import styles from './change.module.css';
import { isEmpty } from './plan.ts';
import { PlanView } from './plan-view.tsx';
import type { Change, Planned } from './use-change.ts';

interface PlannedChangeProps {
  readonly planned: Planned;
  readonly apply: Change['apply'];
}

/** The plan of a change, with the button that applies exactly this change. */
export const PlannedChange = ({ planned, apply }: PlannedChangeProps) => (
  <section aria-labelledby="plan" className={styles['plan']}>
    <h2 id="plan">Plan</h2>
    <PlanView plan={planned.plan} before={planned.before} />
    {!isEmpty(planned.plan) && (
      <p>
        <Button variant="primary" isBusy={apply.isPending} onClick={() => apply.mutate(planned)}>
          Apply
        </Button>
      </p>
    )}
  </section>
);

import { Button } from '../ui/button.tsx';
import { isEmpty } from './plan.ts';
import { PlanSection } from './plan-section.tsx';
import type { Change, Planned } from './use-change.ts';

interface PlannedChangeProps {
  readonly planned: Planned;
  readonly apply: Change['apply'];
}

/** The plan of a change, with the button that applies exactly this change. */
export const PlannedChange = ({ planned, apply }: PlannedChangeProps) => (
  <PlanSection plan={planned.plan} before={planned.before}>
    {!isEmpty(planned.plan) && (
      <p>
        <Button variant="primary" isBusy={apply.isPending} onClick={() => apply.mutate(planned)}>
          Apply
        </Button>
      </p>
    )}
  </PlanSection>
);

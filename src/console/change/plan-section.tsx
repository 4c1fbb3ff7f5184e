import { type ComponentProps, type ReactNode, useId } from 'react';
import styles from './change.module.css';
import { PlanView } from './plan-view.tsx';

type PlanSectionProps = ComponentProps<typeof PlanView> & {
  /** The button that does what the plan shows. */
  readonly children: ReactNode;
};

/** A plan, with the button that does exactly this. */
export function PlanSection({ children, ...plan }: PlanSectionProps) {
  const id = useId();
  return (
    <section aria-labelledby={id} className={styles['plan']}>
      <h2 id={id}>Plan</h2>
      <PlanView {...plan} />
      {children}
    </section>
  );
}

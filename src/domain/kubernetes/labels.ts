/** Labels of Kubernetes that show what an object belongs to. */
export const PART_OF_LABEL = 'app.kubernetes.io/part-of';
export const MANAGED_BY_LABEL = 'app.kubernetes.io/managed-by';

/** Value of `app.kubernetes.io/managed-by` on every object that Berth created. */
export const MANAGED_BY = 'berth';

/** Waiting between attempts is the same everywhere; here it stands for those who import `kube` anyway. */
export { type BackoffOptions, fullJitter } from '../domain/backoff.ts';

/** The lease of a listener. With it, the listener reports how its cluster renders. */
import { loadConfig } from '../../../src/config/index.ts';
import { call } from './bodies.ts';

interface LeaseOptions {
  readonly url: string;
  readonly apiKey: string;
  readonly id: string;
}

/** The rendering of an operator with the default settings. */
const RENDERING = { ...loadConfig({}).rendering, kubernetesVersion: '1.36' };

/** Takes the lease. */
export const takeLease = ({ url, apiKey, id }: LeaseOptions): Promise<unknown> =>
  call(
    url,
    apiKey,
    'PUT',
    `/v2/listeners/${id}/lease`,
    JSON.stringify({
      holder: 'bench',
      version: '0',
      cluster_version: 'v0',
      rendering: RENDERING,
      epoch: null,
    }),
  );

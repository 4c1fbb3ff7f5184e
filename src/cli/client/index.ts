/** The client for programs: what the package berth-cli exports. */
export type * from './api.gen.ts';
export { ApiProblem, type Reason } from './call-problem.ts';
export {
  type Answer,
  type Client,
  type ClientOptions,
  createClient,
  type InputOf,
  type QueryOf,
} from './client.ts';

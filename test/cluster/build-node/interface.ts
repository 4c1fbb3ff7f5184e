/** Facts about the build node that other parts of the tests use, and options of its program. */

/** Options of `main.ts`. */
export interface BuildNodeOptions {
  /** Kubeconfig of an administrator of the cluster. */
  readonly kubeconfig: string;
  /** Name of the Node. */
  readonly node: string;
  /** Namespace of builds. The node ignores pods of other namespaces. */
  readonly namespace: string;
  /** Folder for volumes and logs of the pods. No other node may use it. */
  readonly folder: string;
  /** Variables that the images of the steps would set. */
  readonly environment: Readonly<Record<string, string>>;
}

/** Message of the log line of `main.ts` after the registration of the Node. */
export const READY = 'the build node is ready';

/** Label of the Node, and the taint that keeps other pods away. */
export const NODE_OF_BUILDS = {
  label: 'berth.test/build-node',
  taint: { key: 'berth.test/build-node', value: 'true', effect: 'NoSchedule' },
} as const;

/** Address of the Node and of its log server. Every process of this machine can read the logs. */
export const NODE_ADDRESS = '127.0.0.1';

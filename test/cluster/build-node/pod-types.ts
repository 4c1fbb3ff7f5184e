import type { KubeObject } from '../../../src/cluster/kube/client/object.ts';

/** The fields of pods that the build node reads and writes. */

export interface EnvVar {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: unknown;
}

export interface VolumeMount {
  readonly name: string;
  readonly mountPath: string;
  readonly subPath?: string;
}

export interface Container {
  readonly name: string;
  readonly image?: string;
  readonly command?: readonly string[];
  readonly args?: readonly string[];
  readonly env?: readonly EnvVar[];
  readonly envFrom?: readonly unknown[];
  readonly workingDir?: string;
  readonly volumeMounts?: readonly VolumeMount[];
  readonly restartPolicy?: string;
  readonly terminationMessagePath?: string;
  readonly terminationMessagePolicy?: string;
}

export interface SecretVolume {
  readonly secretName: string;
  readonly optional?: boolean;
  readonly items?: readonly { readonly key: string; readonly path: string }[];
}

export interface Volume {
  readonly name: string;
  readonly emptyDir?: object;
  readonly secret?: SecretVolume;
}

export interface Pod extends KubeObject {
  readonly spec: {
    readonly nodeName?: string;
    readonly restartPolicy?: string;
    readonly initContainers?: readonly Container[];
    readonly containers: readonly Container[];
    readonly volumes?: readonly Volume[];
  };
  readonly status?: {
    readonly phase?: string;
    readonly startTime?: string;
    readonly initContainerStatuses?: readonly { readonly state?: Partial<Record<string, unknown>> }[];
    readonly containerStatuses?: readonly { readonly state?: Partial<Record<string, unknown>> }[];
  };
}

/** State of a container. */
export type ContainerState =
  | { readonly waiting: { readonly reason: string; readonly message?: string } }
  | { readonly running: { readonly startedAt: string } }
  | { readonly terminated: Terminated };

export interface Terminated {
  readonly exitCode: number;
  readonly signal?: number;
  readonly reason: string;
  readonly message?: string;
  readonly startedAt: string;
  readonly finishedAt: string;
}

export const isTerminal = (pod: Pod): boolean => ['Succeeded', 'Failed'].includes(pod.status?.phase ?? '');

/** How a cluster runs builds: settings of its operator, in addition to `spec.build`. */
export interface BuildConfig {
  /** Namespace of the Jobs and of their Secrets. */
  readonly namespace: string;
  /** Image of Berth, for the steps `source` and `result`. */
  readonly berthImage: string;
  /** Image of rootless BuildKit, with buildctl. */
  readonly buildkitImage: string;
  /** Address of a BuildKit daemon, as in `BUILDKIT_HOST`. null: each build runs its own daemon. */
  readonly buildkitHost: string | null;
  /** Pull Secret in the namespace of builds for the images of the steps. null: none. */
  readonly pullSecret: string | null;
  /**
   * ConfigMap in the namespace of builds, whose `ca.crt` is trusted for registries and git hosts. null: only the usual
   * authorities are trusted.
   */
  readonly caConfigMap: string | null;
  /** HTTP proxy of BuildKit and of the commands of Dockerfiles, without credentials. null: none. */
  readonly proxy: { readonly url: string /** Comma-separated. */; readonly except: string } | null;
  /** Time limit of each attempt, in seconds. */
  readonly timeoutSeconds: number;
  /** Maximum number of concurrent builds, per tenant and in total. */
  readonly limits: BuildLimits;
  /** Requests and limits of the step `image`. The other steps need less. */
  readonly resources: { readonly cpu: string; readonly memory: string };
  /** Maximum size of the clone, and of the files of BuildKit, as a quantity. */
  readonly workspace: string;
  /** Whether layers are kept in the registry for the next build of the deployment. */
  readonly cache: boolean;
  /** Whether the registry uses plain HTTP. */
  readonly insecureRegistry: boolean;
  /** Limits of uploaded folders, which the step `source` applies again. */
  readonly uploadLimits: UploadLimits;
  /** Seconds that a finished Job is kept, with its pods and logs. */
  readonly keepSeconds: number;
  /** Variables of the step `source`: base images of generated Dockerfiles, and whether git hosts may be private. */
  readonly sourceVariables: Readonly<Record<string, string>>;
  readonly nodeSelector: Readonly<Record<string, string>>;
  readonly tolerations: readonly BuildToleration[];
}

/** Limits of uploaded folders: part of the policy (`uploads`). */
export interface UploadLimits {
  readonly packedMb: number;
  readonly unpackedMb: number;
  readonly entries: number;
  readonly pathBytes: number;
}

export interface BuildLimits {
  readonly total: number;
  readonly perTenant: number;
}

/** Toleration of a taint of build nodes. */
export interface BuildToleration {
  readonly key: string;
  /** Absent: any value. */
  readonly value?: string;
  /** Absent: every effect. */
  readonly effect?: string;
}

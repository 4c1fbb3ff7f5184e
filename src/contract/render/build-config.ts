/** How a cluster runs builds: the settings of its operator, beside what `spec.build` says. */
export interface BuildConfig {
  /** Namespace of the Jobs and of their Secrets. */
  readonly namespace: string;
  /** Berth's own image, for the steps `source` and `result`. */
  readonly berthImage: string;
  /** Image of rootless BuildKit, with buildctl. */
  readonly buildkitImage: string;
  /** A BuildKit daemon to use, as `BUILDKIT_HOST` has it; null: each build runs its own. */
  readonly buildkitHost: string | null;
  /** Secret in the namespace of builds by which nodes pull the images of the steps; null: they need none. */
  readonly pullSecret: string | null;
  /** ConfigMap there whose `ca.crt` vouches for registries and git hosts; null: the usual authorities alone. */
  readonly caConfigMap: string | null;
  /** HTTP proxy of BuildKit and of what it runs, without credentials; null: none. */
  readonly proxy: { readonly url: string /** Comma-separated. */; readonly except: string } | null;
  /** Seconds until a build that does not end has failed; for each attempt. */
  readonly timeoutSeconds: number;
  /** Most builds at a time, of one tenant and of all. */
  readonly limits: BuildLimits;
  /** Quantities for the step `image`, as request and limit; the other steps take less. */
  readonly resources: { readonly cpu: string; readonly memory: string };
  /** Quantity: how large the clone and BuildKit's own files may each become. */
  readonly workspace: string;
  /** Keep the layers of a build in the registry, for the next one of the deployment. */
  readonly cache: boolean;
  /** The registry is spoken with over plain HTTP. */
  readonly insecureRegistry: boolean;
  /** Seconds for which a Job that has ended is kept, with its pods and logs. */
  readonly keepSeconds: number;
  /** Variables of the step `source`: base images of Dockerfiles that it writes, whether git hosts may be private. */
  readonly sourceVariables: Readonly<Record<string, string>>;
  readonly nodeSelector: Readonly<Record<string, string>>;
  readonly tolerations: readonly BuildToleration[];
}

export interface BuildLimits {
  readonly total: number;
  readonly perTenant: number;
}

/** Of a taint of the nodes for builds. */
export interface BuildToleration {
  readonly key: string;
  /** Absent: whatever it is. */
  readonly value?: string;
  /** Absent: every effect. */
  readonly effect?: string;
}

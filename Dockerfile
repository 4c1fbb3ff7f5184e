# Berth's one image: every role is a command of it (api, listener, operator, all, migrate, keys).
# Pin the base in production: --build-arg NODE_IMAGE=docker.io/library/node@sha256:…
ARG NODE_IMAGE=docker.io/library/node:24-bookworm-slim
# The base of `npm run release`, which reads it here. The release runs no command in the image, so its base contains git.
ARG RELEASE_IMAGE=docker.io/library/node:24-bookworm

FROM ${NODE_IMAGE} AS dependencies
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# No install script is needed at run time: the scripts of the lock file belong to development tools.
# Types and source maps are not either. The bill of materials is of what is installed, so what is not is taken out first.
# Behind a mirror or a private authority: --secret id=npmrc,src=… and --secret id=ca,src=… are used, and not kept.
RUN --mount=type=cache,target=/root/.npm \
    --mount=type=secret,id=npmrc,target=/root/.npmrc \
    --mount=type=secret,id=ca,target=/run/ca.pem \
    if [ -s /run/ca.pem ]; then export NODE_EXTRA_CA_CERTS=/run/ca.pem; fi; \
    npm ci --omit=dev --ignore-scripts --prefer-offline \
    && npm pkg delete devDependencies \
    && npm sbom --sbom-format=cyclonedx > sbom.cdx.json \
    && find node_modules -type f \( -name '*.d.ts' -o -name '*.d.mts' -o -name '*.d.cts' -o -name '*.map' \) -exec rm {} +

# JavaScript, line by line as the sources. Else node would take their types out at each start, which takes as long as all the
# rest of a start, with a parser that keeps 25 MiB of each process.
FROM ${NODE_IMAGE} AS sources
WORKDIR /app
COPY package.json ./
COPY scripts/strip-types.ts ./scripts/
COPY src ./typescript
RUN node --disable-warning=ExperimentalWarning scripts/strip-types.ts typescript src

# The files of the web console, which browsers load. Only this stage needs the development packages.
FROM ${NODE_IMAGE} AS console
WORKDIR /app
COPY package.json package-lock.json .npmrc tsconfig.json ./
RUN --mount=type=cache,target=/root/.npm \
    --mount=type=secret,id=npmrc,target=/root/.npmrc \
    --mount=type=secret,id=ca,target=/run/ca.pem \
    if [ -s /run/ca.pem ]; then export NODE_EXTRA_CA_CERTS=/run/ca.pem; fi; \
    npm ci --ignore-scripts --prefer-offline
COPY scripts/console.ts ./scripts/
COPY scripts/console ./scripts/console
COPY test/cluster/lock.ts ./test/cluster/
COPY src/console ./src/console
RUN node --disable-warning=ExperimentalWarning scripts/console.ts

FROM ${NODE_IMAGE}
# Builds clone with git, and the API reads branches with it. Slim base images do not contain it. A base image that contains git
# is left as it is: use one if you cannot reach a mirror of its distribution. Authorities are Node's, so none are installed.
RUN git --version 2> /dev/null \
    || { apt-get update && apt-get install --yes --no-install-recommends git && rm -rf /var/lib/apt/lists/* && git --version; }
WORKDIR /app
# The chart sets NODE_OPTIONS for each role, by the memory limit of its pod.
ENV NODE_ENV=production BERTH_HOST=0.0.0.0 NODE_OPTIONS=--max-semi-space-size=16
LABEL org.opencontainers.image.title="berth" \
      org.opencontainers.image.licenses="Apache-2.0" \
      dev.berth.sbom="/app/sbom.cdx.json"
# Everything belongs to root and is only read: the root file system may be mounted so.
COPY --from=dependencies /app/node_modules ./node_modules
COPY --from=dependencies /app/sbom.cdx.json ./
COPY package.json LICENSE ./
COPY crds ./crds
COPY --from=sources /app/src ./src
COPY --from=console /app/dist/console ./dist/console
USER 10001:10001
EXPOSE 8080 9090
# Of every role; Kubernetes has probes of its own.
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s CMD ["node", "-e", \
  "fetch('http://127.0.0.1:' + (process.env.BERTH_METRICS_PORT || 9090) + '/healthz').then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "/app/src/main.js"]
CMD ["all"]

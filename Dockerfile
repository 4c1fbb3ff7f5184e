# Berth's one image: every role is a command of it (api, listener, operator, all, migrate, keys).
# Pin the base in production: --build-arg NODE_IMAGE=docker.io/library/node@sha256:…
ARG NODE_IMAGE=docker.io/library/node:24-bookworm-slim

FROM ${NODE_IMAGE} AS dependencies
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# No install script is needed at run time: the scripts of the lock file belong to development tools.
RUN npm ci --omit=dev --ignore-scripts

FROM ${NODE_IMAGE}
WORKDIR /app
ENV NODE_ENV=production BERTH_HOST=0.0.0.0
COPY --from=dependencies /app/node_modules ./node_modules
COPY package.json LICENSE ./
COPY crds ./crds
COPY src ./src
USER 10001:10001
EXPOSE 8080 9090
# Sources run as they are: node strips the types.
ENTRYPOINT ["node", "/app/src/main.ts"]
CMD ["all"]

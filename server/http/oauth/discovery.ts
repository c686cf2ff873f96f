import type { FastifyPluginCallback } from 'fastify'
import { SCOPES } from '../../keys/scopes.ts'
import { offersRegistration } from '../../oauth/clients.ts'
import { OFFLINE_ACCESS, TOOL_SERVERS } from '../../oauth/resources.ts'
import { publicKey } from '../../oauth/signing-key.ts'
import type { Service } from '../../service.ts'
import { allowPreflight } from './endpoint.ts'
import { DEVICE_GRANT } from './token.ts'

/** Clients may keep the documents for this time. */
const CACHE = { 'cache-control': 'public, max-age=300' }

/**
 * The documents by which a client that knows only the address of a tool server finds everything else (RFC 9728, 8414).
 * If PUBLIC_URL has a path, it follows the well-known part; a proxy passes both forms.
 */
export const discoveryRoutes =
  (ctx: Service): FastifyPluginCallback =>
  (app, _options, done) => {
    const { publicUrl } = ctx.config
    const base = new URL(publicUrl).pathname.replace(/\/$/, '')
    const document = (path: string, content: () => object) => {
      allowPreflight(app, path)
      app.get(path, (_request, reply) => reply.headers(CACHE).send(content()))
    }

    for (const [server, { name, scopes }] of Object.entries(TOOL_SERVERS)) {
      for (const path of new Set([server, base + server])) {
        document(`/.well-known/oauth-protected-resource${path}`, () => ({
          resource: publicUrl + server,
          authorization_servers: [publicUrl],
          scopes_supported: scopes,
          bearer_methods_supported: ['header'],
          resource_name: name,
          resource_documentation: `${publicUrl}/docs/guides/oauth`,
        }))
      }
    }

    const names = ['oauth-authorization-server', 'openid-configuration']
    for (const path of new Set(names.flatMap((name) => [name, name + base]))) {
      document(`/.well-known/${path}`, () => serverMetadata(ctx))
    }
    done()
  }

/** `/oauth/jwks`. */
export const keyRoutes =
  (ctx: Service): FastifyPluginCallback =>
  (app, _options, done) => {
    allowPreflight(app, '/oauth/jwks')
    app.get('/oauth/jwks', (_request, reply) =>
      reply.headers(CACHE).send({ keys: [publicKey(ctx.config)] }),
    )
    done()
  }

const serverMetadata = ({ config }: Service) => ({
  issuer: config.publicUrl,
  authorization_endpoint: `${config.publicUrl}/oauth/authorize`,
  token_endpoint: `${config.publicUrl}/oauth/token`,
  ...(offersRegistration(config) && {
    registration_endpoint: `${config.publicUrl}/oauth/register`,
  }),
  revocation_endpoint: `${config.publicUrl}/oauth/revoke`,
  device_authorization_endpoint: `${config.publicUrl}/oauth/device`,
  jwks_uri: `${config.publicUrl}/oauth/jwks`,
  scopes_supported: [...SCOPES, OFFLINE_ACCESS],
  response_types_supported: ['code'],
  response_modes_supported: ['query'],
  grant_types_supported: ['authorization_code', 'refresh_token', DEVICE_GRANT],
  code_challenge_methods_supported: ['S256'],
  token_endpoint_auth_methods_supported: ['none'],
  revocation_endpoint_auth_methods_supported: ['none'],
  client_id_metadata_document_supported: true,
  authorization_response_iss_parameter_supported: true,
  // Required in openid-configuration; this service issues no id tokens.
  subject_types_supported: ['public'],
  id_token_signing_alg_values_supported: ['ES256'],
  service_documentation: `${config.publicUrl}/docs/guides/oauth`,
})

import type { FastifyReply, FastifyRequest } from 'fastify'
import { SCOPES } from '../../keys/scopes.ts'
import { offersRegistration } from '../../oauth/clients.ts'
import { OFFLINE_ACCESS, TOOL_SERVERS } from '../../oauth/resources.ts'
import { publicKey } from '../../oauth/signing-key.ts'
import type { Service } from '../../service.ts'
import { DEVICE_GRANT } from './token.ts'

/** Clients may keep the documents for this time. */
const CACHE = { 'cache-control': 'public, max-age=300' }

/**
 * The documents by which a client that knows only the address of a tool server finds everything else (RFC 9728, 8414),
 * and `/oauth/jwks`.
 */
export const discoveryHandlers = (ctx: Service) => ({
  describeToolServer({ routeOptions: { url } }: FastifyRequest, reply: FastifyReply) {
    const { publicUrl } = ctx.config
    const [path, { name, scopes }] = Object.entries(TOOL_SERVERS).findLast(([path]) =>
      url!.endsWith(path),
    )!
    return reply.headers(CACHE).send({
      resource: publicUrl + path,
      authorization_servers: [publicUrl],
      scopes_supported: scopes,
      bearer_methods_supported: ['header'],
      resource_name: name,
      resource_documentation: `${publicUrl}/docs/guides/oauth`,
    })
  },

  describeServer: (_request: FastifyRequest, reply: FastifyReply) =>
    reply.headers(CACHE).send(serverMetadata(ctx)),

  keys: (_request: FastifyRequest, reply: FastifyReply) =>
    reply.headers(CACHE).send({ keys: [publicKey(ctx.config)] }),
})

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

import type { ErrorType } from '../errors.ts'
import { type HeaderName, headerRefs, LIMIT_HEADERS } from './openapi-headers.ts'
import { ErrorBody, publishedRef } from './schema.ts'

/** The error responses, as the published descriptions explain them. */

type ErrorExample = { message: string; fields?: object }
type ErrorText = ErrorExample & {
  description: string
  /** Named examples, if the error has several forms. */
  examples?: Record<string, ErrorExample>
}
export type ErrorTexts = Partial<Record<ErrorType, ErrorText>>

/** Candidates of a friendly id: the editions of a set share its shortcut. */
export const exampleCardCandidates = [
  {
    id: 'swsh9-18',
    name: 'Charizard VSTAR',
    number: '18',
    set: 'Brilliant Stars',
    language: 'EN',
    region: 'int',
  },
  {
    id: 'swsh9-de-18',
    name: 'Glurak VSTAR',
    number: '18',
    set: 'Strahlende Sterne',
    language: 'DE',
    region: 'int',
  },
]

const AMBIGUOUS_SET: ErrorExample = {
  message: 'The shortcut "brs" means 2 sets. Use a canonical id.',
  fields: {
    candidates: [
      {
        id: 'swsh9',
        shortcut: 'brs',
        name: 'Brilliant Stars',
        series: 'Sword & Shield',
        language: 'EN',
        region: 'int',
      },
      {
        id: 'swsh9tg',
        shortcut: 'brs',
        name: 'Brilliant Stars Trainer Gallery',
        series: 'Sword & Shield',
        language: 'EN',
        region: 'int',
      },
    ],
  },
}

/** Description and example of each error. */
const ERRORS: Record<ErrorType, ErrorText> = {
  bad_request: {
    description: 'The request is not valid HTTP.',
    message: 'This is not a valid HTTP request.',
  },
  authentication_error: {
    description: 'The credentials are missing, unknown, revoked or expired.',
    message: 'The API key is unknown.',
  },
  authorization_error: {
    description:
      'The key lacks the scope that this operation needs, the account’s API access is not enabled or is suspended, or stock is listed while the account’s payout setup is not verified.',
    message: 'The API key lacks the scope catalog:read.',
  },
  not_found: {
    description:
      'No record that the caller can access has this identifier, or the percent-encoding of the URL is malformed.',
    message: 'There is no such record.',
  },
  method_not_allowed: {
    description: 'The path exists with other methods, named in `Allow`.',
    message: 'PUT is not allowed here. Allowed: GET, HEAD.',
  },
  request_timeout: {
    description: 'The request was not complete within 60 seconds. It had no effect.',
    message: 'The request took too long to arrive.',
  },
  conflict: {
    description: 'The current state of the record does not allow this operation.',
    message: 'A revoked key cannot be rotated.',
  },
  ambiguous_identifier: {
    description:
      'Several records share the friendly identifier; `fields.candidates` lists at most 25 of them. A canonical id always resolves.',
    ...AMBIGUOUS_SET,
    examples: {
      set: AMBIGUOUS_SET,
      card: {
        message:
          'The identifier "brs_18" means 2 cards. Narrow it with language, or use a canonical id.',
        fields: { candidates: exampleCardCandidates },
      },
    },
  },
  cursor_expired: {
    description: 'The cursor is older than 30 days: changes after it may have been deleted.',
    message:
      'The cursor has expired. Request a new one without `cursor`, list all of your records again, and continue from the new cursor.',
  },
  payload_too_large: {
    description: 'The body is larger than this operation allows: 256 KiB unless stated otherwise.',
    message: 'The body is larger than 256 KiB.',
  },
  unsupported_media_type: {
    description: 'This operation does not accept the media type of the body.',
    message: 'Send the body as JSON with "Content-Type: application/json".',
  },
  expectation_failed: {
    description: 'The `Expect` header is not `100-continue`.',
    message: 'Only "Expect: 100-continue" is supported.',
  },
  validation_error: {
    description:
      'The body or the query is not valid, or the body is not a JSON object, even if the operation needs none. `fields` maps field names to messages.',
    message: 'The page field must be an integer from 1 to 1000000000.',
    fields: { page: ['The page field must be an integer from 1 to 1000000000.'] },
  },
  rate_limited: {
    description:
      'The key’s read or write limit is used up for this minute, or the client’s address has sent too many wrong keys.',
    message: 'Too many read requests: 600 a minute are possible. Try again in 12 s.',
  },
  headers_too_large: {
    description: 'The address and headers are larger than 16 KiB.',
    message: 'The address and headers are larger than 16 KiB.',
  },
  server_error: {
    description:
      'The service failed. Its log has the details under the request id. A write may have taken effect, as after 503.',
    message: 'Something went wrong on our side.',
  },
  provider_error: {
    description:
      'The carrier failed. The request was valid and can be repeated later: no label is bought twice.',
    message: 'The carrier could not provide the label. Try again later.',
  },
  service_unavailable: {
    description:
      'The database is unavailable, or the service is overloaded or starting. Repeat the request after `Retry-After` seconds. A write may have taken effect: repeat it with the same `Idempotency-Key`, or read the record first.',
    message: 'The database is unavailable. Try again shortly.',
  },
}

const errorExample = (type: ErrorType, { message, fields }: ErrorExample = ERRORS[type]) => {
  return { error: { type, message, ...(fields ? { fields } : {}) } }
}

/** One example, or several with their names. */
const errorExamples = (type: ErrorType, { examples, ...only }: ErrorText) =>
  examples
    ? {
        examples: Object.fromEntries(
          Object.entries(examples).map(([name, example]) => [
            name,
            { value: errorExample(type, example) },
          ]),
        ),
      }
    : { example: errorExample(type, only) }

/** The schema of every error response. */
export const ERROR_SCHEMA = publishedRef(ErrorBody)

/** Errors of a request that is refused before its fields are read. */
const UNREAD = new Set<ErrorType>([
  'authentication_error',
  'request_timeout',
  'payload_too_large',
  'unsupported_media_type',
])

export function errorResponse(
  type: ErrorType,
  { errorTexts, showsLimits }: { errorTexts?: ErrorTexts | undefined; showsLimits: boolean },
) {
  const text = errorTexts?.[type] ?? ERRORS[type]
  const names: HeaderName[] = ['X-Request-Id']
  if (!UNREAD.has(type)) names.push('X-Ignored-Fields')
  if (type === 'authentication_error') names.push('WWW-Authenticate')
  if (showsLimits || type === 'rate_limited') names.push(...LIMIT_HEADERS)
  if (type === 'rate_limited' || type === 'service_unavailable') names.push('Retry-After')
  return {
    description: text.description,
    headers: headerRefs(names),
    content: { 'application/json': { schema: ERROR_SCHEMA, ...errorExamples(type, text) } },
  }
}

/** Several errors that share a status, each with its example. */
export function severalErrors(types: ErrorType[]) {
  return {
    description: types.map((type) => `\`${type}\`: ${ERRORS[type].description}`).join(' '),
    content: {
      'application/json': {
        schema: ERROR_SCHEMA,
        examples: Object.fromEntries(types.map((type) => [type, { value: errorExample(type) }])),
      },
    },
  }
}

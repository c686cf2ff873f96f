import type { FastifyPluginCallbackTypebox } from '@fastify/type-provider-typebox'
import Type, { type Static, type TSchema, type TStringOptions, type TUnsafe } from 'typebox'

/**
 * Building blocks of route schemas. The same schemas validate requests, are checked against every response in the tests,
 * and become the OpenAPI files.
 */

/** The app of a group of routes, whose handlers get their types from the routes' schemas. */
export type App = Parameters<FastifyPluginCallbackTypebox>[0]

/** Named schemas: `components` of the OpenAPI files. */
export const components = new Map<string, TSchema>()

/** Registers a named schema, and returns a reference to it for use in other schemas. */
export function component<S extends TSchema>(name: string, schema: S): TUnsafe<Static<S>> {
  components.set(name, Object.assign(schema, { $id: name }))
  return Type.Unsafe<Static<S>>({ $ref: `${name}#` })
}

/** The reference to a named schema in the published files, for parts of them that don't come from routes. */
export const publishedRef = (named: TSchema) => ({
  $ref: `#/components/schemas/${(named as { $ref: string }).$ref.slice(0, -1)}`,
})

/** Text in a request. Refuses NUL and lone surrogates, which PostgreSQL can't store. Lengths count code points. */
export const Text = (options: TStringOptions = {}) => Type.String({ storable: true, ...options })

/** Text in a request that is not empty. */
export const FilledText = (options: TStringOptions = {}) => Text({ minLength: 1, ...options })

/** Pattern of a text that is more than blanks. */
export const NOT_BLANK = '\\S'

/** Pattern of a text without blanks at its ends. An empty text has none either. */
export const NO_OUTER_BLANKS = '^(\\S([\\s\\S]*\\S)?)?$'

/** Pattern of an ISO country code. */
export const COUNTRY = '^[A-Za-z]{2}$'

/** Pattern of an ISO country code in capitals. */
export const COUNTRY_IN_CAPITALS = '^[A-Z]{2}$'

/** Pattern of the name of a shop in addresses. */
export const SLUG = '^[a-z0-9]+(-[a-z0-9]+)*$'

/** Pattern of the address of a page. */
export const PAGE_ADDRESS = '^https?://'

/** Text in a request that people will read, such as a reason that is e-mailed: not only blanks. */
export const Words = (options: TStringOptions = {}) =>
  FilledText({ pattern: NOT_BLANK, ...options })

/** Text in a request that is one line, such as a name: a further one would read as the marketplace's own in an e-mail. */
export const Line = (options: TStringOptions = {}) => Words({ singleLine: 'name', ...options })

/**
 * A text to search for, in a query. No stored value that is searched is longer, so a longer text would only cost time.
 */
export const SearchText = (options: TStringOptions = {}) => Text({ maxLength: 254, ...options })

/** A time in a query. */
export const DateTimeText = (
  description = 'ISO 8601 date or date-time, inclusive. A date means its first second; without an offset the time is UTC',
  options: TStringOptions = {},
) => Text({ maxLength: 64, description, ...options })

/** One of these texts. */
export const OneOf = <T extends string>(values: readonly T[], options: object = {}) =>
  Type.Unsafe<T>({ type: 'string', enum: [...values], ...options })

/** The schema, or null. `options` override its annotations. */
export const Nullable = <S extends TSchema>(schema: S, options: object = {}) => {
  const { type, enum: values, ...rest } = schema as unknown as { type: string; enum?: unknown[] }
  return Type.Unsafe<Static<S> | null>({
    ...rest,
    ...options,
    type: [type, 'null'],
    ...(values ? { enum: [...values, null] } : {}),
  })
}

/**
 * One of several named records.
 *
 * @param propertyName the field that tells them apart
 * @param records by the value of this field
 */
export const Discriminated = <T>(
  propertyName: string,
  records: Record<string, TSchema>,
  options: object = {},
) =>
  Type.Unsafe<T>({
    oneOf: Object.values(records),
    discriminator: {
      propertyName,
      mapping: Object.fromEntries(
        Object.entries(records).map(([value, record]) => [value, publishedRef(record).$ref]),
      ),
    },
    ...options,
  })

/** A time in a response: ISO 8601 in UTC with whole seconds, ending in `Z`. */
export const Timestamp = (options: object = {}) =>
  Type.String({ format: 'date-time', examples: ['2026-03-01T09:30:00Z'], ...options })

/** An amount in a request, in decimal euros. */
export const Euros = (options: object = {}) => Type.Number({ minimum: 0, ...options })

/** An amount of money in a response, in decimal euros. */
export const amount = (description: string) => Type.Number({ description })

export const Currency = OneOf(['EUR'] as const)

/** The numeric id of a record in a path. Any other text gets 404. */
export const PathId = (description: string) =>
  Type.Integer({ minimum: 1, description, examples: [1] })

/** The numeric id of a record in a body or query. */
export const Id = () => Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })

/** `{"data": …}` */
export const Data = <S extends TSchema>(schema: S, description: string) =>
  Type.Object({ data: schema }, { description })

/** `links` of a list. */
export const PageLinks = component(
  'PageLinks',
  Type.Object(
    {
      first: Type.String(),
      last: Type.String(),
      prev: Nullable(Type.String(), { description: 'null on the first page' }),
      next: Nullable(Type.String(), { description: 'null on the last page' }),
    },
    {
      description: 'Absolute URLs of other pages, with all parameters of the request.',
    },
  ),
)

/** `meta` of a list. */
export const PageMeta = component(
  'PageMeta',
  Type.Object(
    {
      current_page: Type.Integer(),
      from: Nullable(Type.Integer(), {
        description:
          'Position of the page’s first record in the list, from 1; null if the page is empty',
      }),
      last_page: Type.Integer(),
      path: Type.String({ description: 'URL of the list without its query' }),
      per_page: Type.Integer(),
      to: Nullable(Type.Integer(), {
        description: 'Position of the page’s last record in the list; null if the page is empty',
      }),
      total: Type.Integer({ description: 'Number of all matching records' }),
    },
    { description: 'Position of this page in the whole list.' },
  ),
)

/** `{"data": […], "links": …, "meta": …}` (§8) */
export const Paginated = <S extends TSchema>(schema: S, description: string) =>
  Type.Object({ data: Type.Array(schema), links: PageLinks, meta: PageMeta }, { description })

/** The response of operations that support `If-None-Match`. */
export const NotModified = Type.Null({
  description: 'The data still matches the `ETag` in `If-None-Match`. No body.',
})

/** A set that a shortcut may mean (§4.3). */
const SetCandidate = component(
  'SetCandidate',
  Type.Object(
    {
      id: Type.String(),
      shortcut: Type.String(),
      name: Type.String(),
      series: Type.String({ description: 'Name of the series' }),
      language: Type.String(),
      region: Type.String(),
    },
    { description: 'A set that an ambiguous shortcut may mean.' },
  ),
)

/** A card that a friendly id may mean (§7). */
export const CardCandidate = component(
  'CardCandidate',
  Type.Object(
    {
      id: Type.String(),
      name: Type.String(),
      number: Type.String(),
      set: Type.String({ description: 'Name of the set' }),
      language: Type.String(),
      region: Type.String(),
    },
    { description: 'A card that an ambiguous friendly id may mean.' },
  ),
)

/** `error` of the envelope (§7). */
export const ErrorObject = Type.Object({
  type: Type.String({ description: 'Kind of the error, for programs' }),
  message: Type.String({ description: 'Explanation of the error, for people' }),
  fields: Type.Optional(
    Type.Object(
      {
        candidates: Type.Optional(
          Type.Array(Type.Unsafe<object>({ anyOf: [CardCandidate, SetCandidate] }), {
            description: 'At most 25 cards, or at most 25 sets',
          }),
        ),
      },
      {
        additionalProperties: true,
        description:
          'Messages by field name if `type` is validation_error, `candidates` if it is ambiguous_identifier. Absent otherwise.',
      },
    ),
  ),
})

/** The error envelope (§7). */
export const ErrorBody = component(
  'ErrorBody',
  Type.Object({ error: ErrorObject }, { description: 'The body of every error response.' }),
)

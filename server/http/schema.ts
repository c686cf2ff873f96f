import Type, { type Static, type TSchema, type TStringOptions, type TUnsafe } from 'typebox'

/**
 * The words that route schemas are written in. The same schemas check requests, are held against every answer in
 * the tests, and become the OpenAPI files.
 */

/** Named schemas: `components` of the OpenAPI files. */
export const components = new Map<string, TSchema>()

/** Gives a schema a name; where it's used, the published file refers to it. */
export function component<S extends TSchema>(name: string, schema: S): TUnsafe<Static<S>> {
  components.set(name, Object.assign(schema, { $id: name }))
  return Type.Unsafe<Static<S>>({ $ref: `${name}#` })
}

/** Where the published files have a named schema: for what they say beside the routes. */
export const publishedRef = (named: TSchema) => ({
  $ref: `#/components/schemas/${(named as { $ref: string }).$ref.slice(0, -1)}`,
})

/** Text that a request brings; what can't be stored (NUL, lone surrogates) is refused. Lengths count code points. */
export const Text = (options: TStringOptions = {}) => Type.String({ storable: true, ...options })

/** Text that isn't empty. */
export const FilledText = (options: TStringOptions = {}) => Text({ minLength: 1, ...options })

/** One of a fixed list. */
export const OneOf = <T extends string>(values: readonly T[], options: object = {}) =>
  Type.Unsafe<T>({ type: 'string', enum: [...values], ...options })

/** The same, or null. */
export const Nullable = <S extends TSchema>(schema: S, options: object = {}) => {
  const { type, enum: values, ...rest } = schema as unknown as { type: string; enum?: unknown[] }
  return Type.Unsafe<Static<S> | null>({
    ...rest,
    ...options,
    type: [type, 'null'],
    ...(values ? { enum: [...values, null] } : {}),
  })
}

/** A moment: ISO 8601, UTC, whole seconds, `Z`. */
export const Timestamp = (options: object = {}) =>
  Type.String({ format: 'date-time', examples: ['2026-03-01T09:30:00Z'], ...options })

/** Decimal euros. */
export const Euros = (options: object = {}) => Type.Number({ minimum: 0, ...options })

/** An amount of money in a response, in decimal euros. */
export const amount = (description: string) => Type.Number({ description })

export const Currency = OneOf(['EUR'] as const)

/** An account's, key's or listing's number in a path; anything else names no record. */
export const PathId = (description: string) =>
  Type.Integer({ minimum: 1, description, examples: [1] })

/** The same in a body. */
export const Id = () => Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })

/** `{"data": …}` */
export const Data = <S extends TSchema>(schema: S, description: string) =>
  Type.Object({ data: schema }, { description })

const PageLinks = component(
  'PageLinks',
  Type.Object(
    {
      first: Type.String(),
      last: Type.String(),
      prev: Nullable(Type.String(), { description: 'null on the first page' }),
      next: Nullable(Type.String(), { description: 'null on the last page' }),
    },
    {
      description: 'Absolute addresses of other pages, with every parameter that was sent.',
    },
  ),
)

const PageMeta = component(
  'PageMeta',
  Type.Object(
    {
      current_page: Type.Integer(),
      from: Nullable(Type.Integer(), {
        description: 'Number of the first record on this page, null when it is empty',
      }),
      last_page: Type.Integer(),
      path: Type.String({ description: 'The address without its query' }),
      per_page: Type.Integer(),
      to: Nullable(Type.Integer(), {
        description: 'Number of the last record on this page, null when it is empty',
      }),
      total: Type.Integer({ description: 'All matching records' }),
    },
    { description: 'Where this page stands in the whole list.' },
  ),
)

/** `{"data": […], "links": …, "meta": …}` (§8) */
export const Paginated = <S extends TSchema>(schema: S, description: string) =>
  Type.Object({ data: Type.Array(schema), links: PageLinks, meta: PageMeta }, { description })

/** For operations whose `ETag` a client may send back in `If-None-Match`. */
export const NotModified = Type.Null({
  description: 'Unchanged since the response whose `ETag` was sent in `If-None-Match`. No body.',
})

/** `error` of the envelope (§7). */
export const ErrorObject = Type.Object({
  type: Type.String({ description: 'What went wrong, for programs' }),
  message: Type.String({ description: 'What went wrong, for people' }),
  fields: Type.Optional(
    Type.Object(
      {},
      {
        additionalProperties: true,
        description:
          'On validation_error, field name to messages; on ambiguous_identifier, `candidates`. Absent otherwise.',
      },
    ),
  ),
})

/** The error envelope (§7). */
export const ErrorAnswer = component(
  'Error',
  Type.Object(
    { error: ErrorObject },
    { description: 'The body of every answer that is not a success.' },
  ),
)

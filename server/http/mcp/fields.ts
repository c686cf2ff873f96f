import Type, { type TProperties, type TSchema } from 'typebox'
import type { Page } from '../../database/paging.ts'
import { MAX_PAGE } from '../paginate.ts'

const DEFAULT_PER_PAGE = 20
const MAX_PER_PAGE = 50

/**
 * The two inputs of every list. The APIs adjust a `per_page` out of range; a tool refuses it, because a model corrects
 * itself.
 */
export const pageInput = {
  page: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: MAX_PAGE,
      description: 'From 1',
    }),
  ),
  per_page: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: MAX_PER_PAGE,
      description: `Default ${DEFAULT_PER_PAGE}`,
    }),
  ),
} satisfies TProperties

/** The page that a tool's input requests, with the defaults of the APIs. */
export function pageOf(input: { page?: number | undefined; per_page?: number | undefined }): Page {
  const { page = 1, per_page = DEFAULT_PER_PAGE } = input
  return { perPage: per_page, offset: (page - 1) * per_page }
}

/** `{data, meta}` of a list. */
export const PageOf = (entry: TSchema) =>
  Type.Object({
    data: Type.Array(entry),
    meta: Type.Object({
      total: Type.Integer(),
      page: Type.Integer(),
      pages: Type.Integer(),
      per_page: Type.Optional(
        Type.Integer({ description: 'Only if the page was too large: go on with this' }),
      ),
    }),
  })

/** Says that a result is not whole, and how to get the rest. */
export const note = Type.Optional(Type.String())

/** The id of a record. */
export const IdInput = (description: string) =>
  Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER, description })
